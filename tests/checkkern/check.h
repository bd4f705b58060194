/* SPDX-License-Identifier: MIT
 * What all checks share: a seeded generator, guarded buffers, and a count of failures. A check never stops at a
 * failure: it reports the kernel, the case and both values, and goes on. */
#ifndef ST_TESTS_CHECKKERN_CHECK_H
#define ST_TESTS_CHECKKERN_CHECK_H

#include "base/rng.h"
#include "kern/kern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct check {
    st_rng rng;
    const st_kern *ref;  /* the scalar table */
    const st_kern *kern; /* the table under test; the scalar one too */
    const st_kern *twin; /* a table that promises the same bits, or NULL */
    unsigned cases, failures;
} check;

void check_fail(check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A buffer with poisoned zones on both sides, itself poisoned. `shift` bytes from 64-byte alignment. */
typedef struct guarded {
    uint8_t *memory;
    void *data;
    size_t bytes;
} guarded;

guarded guarded_new(size_t bytes, size_t shift);
void guarded_poison(guarded *g);
bool guarded_intact(const guarded *g);      /* the zones around it */
bool poisoned(const void *p, size_t bytes); /* never written since */
void guarded_free(guarded *g);

float random_float(check *c); /* about standard normal */
void random_floats(check *c, float *x, size_t n);
uint32_t random_below(check *c, uint32_t n);
/* Whole blocks of random bits with sane scales: every value a file can hold turns up. */
void random_blocks(check *c, uint32_t type, uint8_t *dst, size_t n);
/* The values of n / block_len blocks become one byte all over; their f16 scales, and floats, stay as they are. */
void equal_blocks(uint32_t type, uint8_t byte, uint8_t *dst, size_t n);

bool close_enough(float got, float want, double tolerance); /* NaN equals NaN */

void check_matmul(check *c);
void check_ops(check *c);
void check_attention(check *c);
void check_peak(check *c);

/* Prints a table: kernel, ns a call, GB/s, multiply-adds/ns. `only` is part of a kernel's name, or NULL for all. */
int bench_all(const st_kern *kern, const char *only);

#endif
