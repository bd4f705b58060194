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

/* Turns of pure spinning, of some 30 to 50 ns each, before a waiter starts to offer its core to others. They may need
 * it to do what is waited for: eight threads on one core that only spin are 40 times slower than one. A team that works
 * waits longer than the usual difference between its members, since who gives a core away on a busy machine gets it
 * back a time slice later, milliseconds. Who idles gives way soon, above all to the thread that will bring the next
 * work. */
#define ST_SPIN_TEAM 1024u
#define ST_SPIN_IDLE 128u

/* The turn'th turn of a wait. */
static inline void st_spin_turn(unsigned turn, unsigned spins) {
    if (turn < spins)
        st_spin_pause();
    else
        sched_yield();
}

#endif
