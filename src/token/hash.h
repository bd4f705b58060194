/* SPDX-License-Identifier: MIT
 * Hashes for the module's open-addressing tables. Not for secrets and not keyed: whoever fills a table from a file
 * bounds the length of its chains (ST_CHAIN_LIMIT), so that tokens made to collide are refused instead of costing
 * quadratic time. */
#ifndef ST_TOKEN_HASH_H
#define ST_TOKEN_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Tables are at most half full; the longest chain among a million random keys is then well under 100. */
#define ST_CHAIN_LIMIT 1024

/* Odd constants with no pattern in their bits: the golden ratio and a prime of xxHash. */
#define ST_HASH_MULTIPLIER 0x9e3779b97f4a7c15u
#define ST_HASH_FINISHER 0xc2b2ae3d27d4eb4fu

static inline uint64_t st_hash_mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * ST_HASH_MULTIPLIER;
    return h ^ (h >> 32);
}

static inline uint64_t st_hash_finish(uint64_t h) {
    h *= ST_HASH_FINISHER;
    return h ^ (h >> 29);
}

/* The last (or only) 1 to 8 bytes of a string as one word; longer strings overlap with the word before. */
static inline uint64_t st_hash_tail(const unsigned char *bytes, size_t n) {
    uint64_t word = 0;
    if (n >= 8) {
        memcpy(&word, bytes + n - 8, 8);
    } else if (n >= 4) {
        uint32_t low, high;
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + n - 4, 4);
        word = low | (uint64_t)high << 32;
    } else if (n > 0) {
        word = bytes[0] | (uint64_t)bytes[n / 2] << 8 | (uint64_t)bytes[n - 1] << 16;
    }
    return word;
}

static inline uint64_t st_hash_bytes(const void *data, size_t n) {
    const unsigned char *bytes = data;
    uint64_t h = n * ST_HASH_FINISHER;
    size_t at = 0;
    for (; n - at > 8; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        h = st_hash_mix(h, word);
    }
    return st_hash_finish(st_hash_mix(h, st_hash_tail(bytes, n)));
}

static inline uint64_t st_hash_pair(uint32_t a, uint32_t b) {
    return st_hash_finish(st_hash_mix(0, a | (uint64_t)b << 32));
}

#endif
