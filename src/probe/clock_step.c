/* SPDX-License-Identifier: MIT */
#include "probe/clock_step.h"

#define UNROLL 16u

/* The empty statements keep the compiler from folding the additions; one of an unknown number, in a register, is not
 * folded by the processor either. */
#define ADD_ONE(x, one)                                                                                                \
    do {                                                                                                               \
        (x) += (one);                                                                                                  \
        __asm__ volatile("" : "+r"(x));                                                                                \
    } while (0)
#define ADD_FOUR(x, one)                                                                                               \
    do {                                                                                                               \
        ADD_ONE(x, one);                                                                                               \
        ADD_ONE(x, one);                                                                                               \
        ADD_ONE(x, one);                                                                                               \
        ADD_ONE(x, one);                                                                                               \
    } while (0)

static int clock_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)worker, (void)err;
    uint64_t x = 0, one = 1;
    __asm__ volatile("" : "+r"(one));
    for (uint64_t i = *(const uint64_t *)arg / UNROLL; i > 0; i--) {
        ADD_FOUR(x, one);
        ADD_FOUR(x, one);
        ADD_FOUR(x, one);
        ADD_FOUR(x, one);
    }
    return STRETTO_OK;
}

st_step st_clock_step(const uint64_t *additions) {
    return (st_step){.name = "clock", .run = clock_run, .arg = (void *)additions, .operations = *additions};
}
