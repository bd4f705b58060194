/* SPDX-License-Identifier: MIT
 * One turn of a wait that spins first and then lets others have the core. */
#ifndef ST_BASE_SPIN_H
#define ST_BASE_SPIN_H

#include <sched.h>

/* Tells the processor that this is a spin loop: cheaper for the other hardware thread and for leaving the loop. */
static inline void st_spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* `yield` is a no-op on most cores; isb waits some tens of cycles */
#endif
}

/* Turns of pure spinning, a few microseconds, before a waiter starts to offer its core to others. Somebody may need it to
 * do what is waited for: eight threads on one core that only spin are 40 times slower than one. */
#define ST_SPIN_TURNS 256u

/* The turn'th turn of a wait. */
static inline void st_spin_turn(unsigned turn) {
    if (turn < ST_SPIN_TURNS)
        st_spin_pause();
    else
        sched_yield();
}

#endif
