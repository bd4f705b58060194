/* SPDX-License-Identifier: MIT
 * Products of one token and of a few with AVX2: streams of tiles, 16 rows at a time, everything else in registers. Rows
 * 0-7 and rows 8-15 have sums of their own and share the broadcast activations. The order of sums stands in avx2.h.
 *
 * One core keeps so many fetches under way for each stream that it reads, and more for several. So a matrix is read as
 * three parts, far from each other, in turns: strips next to each other gain nothing, since each stream is then over,
 * at a page's end or the strip's, before the hardware has seen that it is one. Turns are short, a piece of a tile of
 * two or three cache lines: what is under way at a time is what few instructions ask for. And each piece fetches the
 * one that is its part's turn some turns later, since the hardware does not fetch far enough to keep up with unpacking.
 *
 * Measured on Zen 3 with kernels in turns: a fourth part, two parts, other distances or none are slower; whole tiles of
 * 5 or 6 lines, fetched ahead, by 3 to 11 %; Q4_K, Q5_K and Q6_K in four parts without fetching by 8 to 19 %. Then 0.82
 * to 0.93 of a plain read of four streams is reached. Q2_K and the IQ4 types need more instructions for a line, which
 * leaves 0.65 to 0.85; Q2_K loads its scales as seldom as it can, once a chunk.
 *
 * A few tokens are as many sums beside each other: a vector of weights is unpacked in registers and meets them all.
 * Of weights from memory, two tokens take 1.05 to 1.13 times as long as one and three 1.2 to 1.4 (Q2_K and the IQ4
 * types 1.5 to 2.0 and more), where blocks that are unpacked to the first cache, in one stream, took 1.4 to 1.7 and 1.5
 * to 1.9.
 */
#include "kern/turns_avx2.h"

#include "kern/pieces_avx2.h"
#include "kern/pieces_k_avx2.h"

/* A piece more of a strip; `tile` is the strip's, x stands at the chunk's activations (of a tile of 32 columns: its
 * own). */
typedef void piece_fn(strip_sums *s, const uint8_t *tile, uint32_t chunk, const uint8_t *x, int piece, int tokens);

/* How a format is read: known when it is compiled. */
typedef struct plan {
    piece_fn *add;
    int pieces; /* of a chunk */
    int blocks; /* of 32 columns of a chunk */
    int chunks; /* of a tile */
    int tile_bytes;
} plan;

/* One token's sums stay in registers; of several, what registers have no room for. Activations are not to be kept for
 * the next strip's piece. */
#define ADD_PIECE(s, at)                                                                                               \
    how.add(&s, at, chunk, x, piece, tokens);                                                                          \
    if (tokens == 1) {                                                                                                 \
        HOLD(s.half[0].acc[0]);                                                                                        \
        HOLD(s.half[1].acc[0]);                                                                                        \
    }                                                                                                                  \
    FORGET_LOADS();

ST_INLINE strip_sums no_sums(int tokens) {
    strip_sums s;
    ST_UNROLLED
    for (int h = 0; h < 2; h++) {
        zero_floats(&s.half[h], tokens);
        zero_dots(&s.half[h], tokens);
    }
    return s;
}

ST_INLINE void store_strip(const st_turn_strip *to, size_t turn, const strip_sums *s, int tokens) {
    float *y = to->y + turn * ST_STRIP;
    ST_UNROLLED
    for (int t = 0; t < tokens; t++) {
        _mm256_storeu_ps(y + to->ldy * t, s->half[0].acc[t]);
        _mm256_storeu_ps(y + to->ldy * t + 8, s->half[1].acc[t]);
    }
}

/* `turns` times n strips, each at its place in memory and behind that. */
ST_INLINE void run_strips(plan how, int tokens, int n, const st_matrix *w, const uint8_t *quant,
                          const st_turn_strip *strips, uint32_t turns) {
    for (size_t turn = 0; turn < turns; turn++) {
        const size_t on = turn * w->strip_bytes;
        const uint8_t *x = quant, *at_a = strips[0].data + on, *at_b = n > 1 ? strips[1].data + on : NULL,
                      *at_c = n > 2 ? strips[2].data + on : NULL;
        strip_sums a = no_sums(tokens), b = a, c = a;
        for (uint32_t tiles = w->cols / (32 * (uint32_t)(how.chunks * how.blocks)); tiles > 0; tiles--) {
            for (uint32_t chunk = 0; chunk < (uint32_t)how.chunks; chunk++) {
                ST_UNROLLED
                for (int piece = 0; piece < how.pieces; piece++) {
                    ADD_PIECE(a, at_a)
                    if (n > 1) {
                        ADD_PIECE(b, at_b)
                    }
                    if (n > 2) {
                        ADD_PIECE(c, at_c)
                    }
                }
                x += how.blocks * tokens * ST_QBLOCK_BYTES;
            }
            at_a += how.tile_bytes;
            if (n > 1) at_b += how.tile_bytes;
            if (n > 2) at_c += how.tile_bytes;
        }
        store_strip(&strips[0], turn, &a, tokens);
        if (n > 1) store_strip(&strips[1], turn, &b, tokens);
        if (n > 2) store_strip(&strips[2], turn, &c, tokens);
    }
}

ST_INLINE void run_turns(plan how, int tokens, const st_matrix *w, const uint8_t *x, const st_turn_strip *strips,
                         uint32_t n, uint32_t turns) {
    _Static_assert(ST_TURN_STRIPS_AVX2 == 3, "a case for each number of strips");
    if (n == 3)
        run_strips(how, tokens, 3, w, x, strips, turns);
    else if (n == 2 && tokens == 1)
        run_strips(how, tokens, 2, w, x, strips, turns);
    else
        for (uint32_t i = 0; i < n; i++) run_strips(how, tokens, 1, w, x, strips + i, turns);
}

/* A function for each number of tokens: a compiler deals out registers worse in one that has all the loops. */
typedef void run_fn(const st_matrix *w, const uint8_t *x, const st_turn_strip *strips, uint32_t n, uint32_t turns);
#define OF_TOKENS(format, tokens, ...)                                                                                 \
    static __attribute__((noinline)) void run_##format##_##tokens(                                                     \
        const st_matrix *w, const uint8_t *x, const st_turn_strip *strips, uint32_t n, uint32_t turns) {               \
        run_turns((plan){piece_##format, __VA_ARGS__}, tokens, w, x, strips, n, turns);                                \
    }
#define BY_TOKENS(format, ...)                                                                                         \
    ST_KERN_TURN_DECL(st_turn_##format##_avx2) {                                                                       \
        static run_fn *const of[] = {__VA_ARGS__};                                                                     \
        of[panel->n - 1](w, panel->quant, strips, n, turns);                                                           \
    }

/* Up to two or four tokens, as turns_avx2.h has it. */
#define TWO(format, ...)                                                                                               \
    OF_TOKENS(format, 1, __VA_ARGS__)                                                                                  \
    OF_TOKENS(format, 2, __VA_ARGS__)                                                                                  \
    BY_TOKENS(format, run_##format##_1, run_##format##_2)
#define FOUR(format, ...)                                                                                              \
    OF_TOKENS(format, 1, __VA_ARGS__)                                                                                  \
    OF_TOKENS(format, 2, __VA_ARGS__)                                                                                  \
    OF_TOKENS(format, 3, __VA_ARGS__)                                                                                  \
    OF_TOKENS(format, 4, __VA_ARGS__)                                                                                  \
    BY_TOKENS(format, run_##format##_1, run_##format##_2, run_##format##_3, run_##format##_4)

FOUR(q4_0, 2, 1, 1, ST_TILE_Q4_0)
FOUR(q4_1, 2, 1, 1, ST_TILE_Q4_1)
FOUR(q5_0, 2, 1, 1, ST_TILE_Q5_0)
FOUR(q5_1, 2, 1, 1, ST_TILE_Q5_1)
FOUR(q8_0, 4, 1, 1, ST_TILE_Q8_0)
TWO(iq4_nl, 2, 1, 1, ST_TILE_Q4_0)
TWO(iq4_xs, 4, 2, ST_CHUNKS, ST_TILE_IQ4_XS)
TWO(q2_k, 1, 2, ST_CHUNKS, ST_TILE_Q2_K)
FOUR(q4_k, 4, 2, ST_CHUNKS, ST_TILE_Q4_K)
FOUR(q5_k, 4, 2, ST_CHUNKS, ST_TILE_Q5_K)
TWO(q6_k, 4, 2, ST_CHUNKS, ST_TILE_Q6_K)
