/* SPDX-License-Identifier: MIT
 * What memory and arithmetic give without vector kernels. */
#include "kern/scalar.h"

typedef uint64_t vector2 __attribute__((vector_size(16)));

static vector2 add_line(vector2 sum, const uint8_t *line) {
    const vector2 *v = (const vector2 *)line;
    return sum + (v[0] + v[1]) + (v[2] + v[3]);
}

uint64_t st_stream_scalar(const uint8_t *data, size_t bytes, enum st_stream_order order) {
    const st_stream_walk walk = st_stream_walk_of(bytes, order);
    vector2 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (size_t i = 0; i < walk.n; i++) {
        const uint8_t *p = data + i * walk.step;
        s0 = add_line(s0, p);
        s1 = add_line(s1, p + walk.apart);
        s2 = add_line(s2, p + 2 * walk.apart);
        s3 = add_line(s3, p + 3 * walk.apart);
    }
    for (size_t i = walk.n * 256; i < bytes; i += 64) s0 = add_line(s0, data + i);
    s0 += s1 + s2 + s3;
    return s0[0] + s0[1];
}

/* Eight sums, and one factor that the compiler takes for another each time: it can neither leave a product out nor put
 * several into a vector. */
#define ADD(sum)                                                                                                       \
    HIDE(x);                                                                                                           \
    sum += x * y;
#define ADD_ALL() ADD(s0) ADD(s1) ADD(s2) ADD(s3) ADD(s4) ADD(s5) ADD(s6) ADD(s7)

#define HIDE(v) __asm__ volatile("" : "+r"(v))
uint32_t st_burn_dots_scalar(uint32_t rounds) {
    uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, x = 1, y = 1;
    HIDE(y);
    for (; rounds > 0; rounds--)
        for (int i = 0; i < ST_BURN_ROUND / 8; i++) {
            ADD_ALL()
        }
    return s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;
}
#undef HIDE

#if defined(__aarch64__)
#define HIDE(v) __asm__ volatile("" : "+w"(v))
#elif defined(__x86_64__)
#define HIDE(v) __asm__ volatile("" : "+x"(v))
#else
#define HIDE(v) __asm__ volatile("" : "+m"(v))
#endif
uint32_t st_burn_f32_scalar(uint32_t rounds) {
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, x = 1, y = 1;
    HIDE(y);
    for (; rounds > 0; rounds--)
        for (int i = 0; i < ST_BURN_ROUND / 8; i++) {
            ADD_ALL()
        }
    return (uint32_t)(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7);
}
