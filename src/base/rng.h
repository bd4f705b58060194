/* SPDX-License-Identifier: MIT
 * A small seeded generator (xoshiro256**, Blackman & Vigna 2018, seeded through splitmix64). Not for secrets. */
#ifndef ST_BASE_RNG_H
#define ST_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct st_rng {
    uint64_t s[4];
} st_rng;

void st_rng_seed(st_rng *rng, uint64_t seed);
uint64_t st_rng_next(st_rng *rng);              /* 64 uniform bits */
uint64_t st_rng_below(st_rng *rng, uint64_t n); /* uniform in 0..n-1 without bias, n > 0 */
double st_rng_unit(st_rng *rng);                /* uniform in [0, 1) */
double st_rng_normal(st_rng *rng);              /* standard normal */
void st_rng_shuffle(st_rng *rng, unsigned *items, size_t n);

#endif
