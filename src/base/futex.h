/* SPDX-License-Identifier: MIT
 * Sleeping on a word of memory until another thread of the process changes it (futex(2)). */
#ifndef ST_BASE_FUTEX_H
#define ST_BASE_FUTEX_H

#include <stdatomic.h>

struct timespec;

/* Sleeps while *word is `value`. May also return early, so the caller looks at the word again. */
void st_futex_wait(atomic_uint *word, unsigned value);

/* Wakes all that sleep on word, after the caller changed it. Only the address is used: the word's owner may have
 * let go of it meanwhile. */
void st_futex_wake(atomic_uint *word);

/* The same for a word in memory that several processes share. timeout: at most that long; NULL: no limit. */
void st_futex_wait_shared(atomic_uint *word, unsigned value, const struct timespec *timeout);
void st_futex_wake_shared(atomic_uint *word);

#endif
