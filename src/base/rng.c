/* SPDX-License-Identifier: MIT */
#include "base/rng.h"

#include <math.h>

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

/* splitmix64, Steele, Lea & Flood 2014: spreads any seed, 0 included, over the whole state. */
void st_rng_seed(st_rng *rng, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        rng->s[i] = z ^ (z >> 31);
    }
}

uint64_t st_rng_next(st_rng *rng) {
    uint64_t *s = rng->s, result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* Draws again below 2^64 mod n, so that every remainder has equally many draws. */
uint64_t st_rng_below(st_rng *rng, uint64_t n) {
    uint64_t least = (0 - n) % n, x;
    do x = st_rng_next(rng);
    while (x < least);
    return x % n;
}

double st_rng_unit(st_rng *rng) {
    return (double)(st_rng_next(rng) >> 11) * 0x1p-53;
}

/* Box & Muller 1958; 1 - u keeps the logarithm's argument above zero. */
double st_rng_normal(st_rng *rng) {
    double radius = sqrt(-2.0 * log(1.0 - st_rng_unit(rng)));
    return radius * cos(6.283185307179586477 * st_rng_unit(rng));
}

/* Fisher & Yates. */
void st_rng_shuffle(st_rng *rng, unsigned *items, size_t n) {
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)st_rng_below(rng, i);
        unsigned item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}
