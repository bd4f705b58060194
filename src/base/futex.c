/* SPDX-License-Identifier: MIT */
#include "base/futex.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(atomic_uint) == 4, "the kernel's futex is 32 bits");

void st_futex_wait(atomic_uint *word, unsigned value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void st_futex_wake(atomic_uint *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void st_futex_wait_shared(atomic_uint *word, unsigned value, const struct timespec *timeout) {
    syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0);
}

void st_futex_wake_shared(atomic_uint *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
