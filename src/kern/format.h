/* SPDX-License-Identifier: MIT
 * The packed formats, and the list of them that every kernel table starts with. */
#ifndef ST_KERN_FORMAT_H
#define ST_KERN_FORMAT_H

#include "kern/kern.h"

extern const st_kern_format st_format_f32, st_format_f16, st_format_bf16;
extern const st_kern_format st_format_q4_0, st_format_q4_1, st_format_q5_0, st_format_q5_1, st_format_q8_0,
    st_format_iq4_nl;
extern const st_kern_format st_format_q2_k, st_format_q3_k, st_format_q4_k, st_format_q5_k, st_format_q6_k,
    st_format_iq4_xs;

/* Initializer of st_kern.formats. */
#define ST_ALL_FORMATS                                                                                                 \
    {                                                                                                                  \
        [ST_F32] = &st_format_f32, [ST_F16] = &st_format_f16, [ST_BF16] = &st_format_bf16,                             \
        [ST_Q4_0] = &st_format_q4_0, [ST_Q4_1] = &st_format_q4_1, [ST_Q5_0] = &st_format_q5_0,                         \
        [ST_Q5_1] = &st_format_q5_1, [ST_Q8_0] = &st_format_q8_0, [ST_IQ4_NL] = &st_format_iq4_nl,                     \
        [ST_Q2_K] = &st_format_q2_k, [ST_Q3_K] = &st_format_q3_k, [ST_Q4_K] = &st_format_q4_k,                         \
        [ST_Q5_K] = &st_format_q5_k, [ST_Q6_K] = &st_format_q6_k, [ST_IQ4_XS] = &st_format_iq4_xs,                     \
    }

/* Declares a kernel table's functions, so that every variant has the same signature. */
#define ST_KERN_MATMUL_DECL(name)                                                                                      \
    void name(const st_matrix *w, const st_panel *panel, uint32_t strip_lo, uint32_t strip_hi, float *y, size_t ldy)
/* The same for all products of a table: of matrices of floats, and of those whose input is quantized. */
#define ST_KERN_FLOATS_DECL(isa)                                                                                       \
    ST_KERN_MATMUL_DECL(st_matmul_f32_##isa);                                                                          \
    ST_KERN_MATMUL_DECL(st_matmul_f16_##isa);                                                                          \
    ST_KERN_MATMUL_DECL(st_matmul_bf16_##isa)
#define ST_KERN_QUANTS_DECL(isa)                                                                                       \
    ST_KERN_MATMUL_DECL(st_matmul_q4_0_##isa);                                                                         \
    ST_KERN_MATMUL_DECL(st_matmul_q4_1_##isa);                                                                         \
    ST_KERN_MATMUL_DECL(st_matmul_q5_0_##isa);                                                                         \
    ST_KERN_MATMUL_DECL(st_matmul_q5_1_##isa);                                                                         \
    ST_KERN_MATMUL_DECL(st_matmul_q8_0_##isa);                                                                         \
    ST_KERN_MATMUL_DECL(st_matmul_iq4_nl_##isa);                                                                       \
    ST_KERN_MATMUL_DECL(st_matmul_iq4_xs_##isa);                                                                       \
    ST_KERN_MATMUL_DECL(st_matmul_q2_k_##isa);                                                                         \
    ST_KERN_MATMUL_DECL(st_matmul_q4_k_##isa);                                                                         \
    ST_KERN_MATMUL_DECL(st_matmul_q5_k_##isa);                                                                         \
    ST_KERN_MATMUL_DECL(st_matmul_q6_k_##isa)
/* Initializer of st_kern.matmul from them. Q3_K is packed as Q6_K. */
#define ST_KERN_MATMULS(floats, quants)                                                                                \
    {                                                                                                                  \
        [ST_F32] = st_matmul_f32_##floats, [ST_F16] = st_matmul_f16_##floats, [ST_BF16] = st_matmul_bf16_##floats,     \
        [ST_Q4_0] = st_matmul_q4_0_##quants, [ST_Q4_1] = st_matmul_q4_1_##quants, [ST_Q5_0] = st_matmul_q5_0_##quants, \
        [ST_Q5_1] = st_matmul_q5_1_##quants, [ST_Q8_0] = st_matmul_q8_0_##quants,                                      \
        [ST_IQ4_NL] = st_matmul_iq4_nl_##quants, [ST_IQ4_XS] = st_matmul_iq4_xs_##quants,                              \
        [ST_Q2_K] = st_matmul_q2_k_##quants, [ST_Q3_K] = st_matmul_q6_k_##quants, [ST_Q4_K] = st_matmul_q4_k_##quants, \
        [ST_Q5_K] = st_matmul_q5_k_##quants, [ST_Q6_K] = st_matmul_q6_k_##quants,                                      \
    }
#define ST_KERN_TURN_DECL(name)                                                                                        \
    void name(const st_matrix *w, const st_panel *panel, const st_turn_strip *strips, uint32_t n, uint32_t turns)
#define ST_KERN_OPS_DECL(isa)                                                                                          \
    void st_quantize_##isa(const st_panel *panel, uint32_t block_lo, uint32_t block_hi);                               \
    void st_rms_norm_##isa(float *out, const float *x, const float *weight, uint32_t n, float eps);                    \
    void st_add_##isa(float *x, const float *y, uint32_t n);                                                           \
    void st_scale_##isa(float *x, float by, uint32_t n);                                                               \
    void st_gate_##isa(enum st_activation act, float *gate, const float *up, uint32_t n);                              \
    void st_softcap_##isa(float *x, uint32_t n, float cap);                                                            \
    void st_rope_##isa(float *x, const float *cos_sin, uint32_t n_pairs, uint32_t head_dim, bool neox);                \
    void st_kv_store_f16_##isa(void *k, void *v, const float *key, const float *value, uint32_t slot,                  \
                               uint32_t head_dim);                                                                     \
    void st_kv_store_f32_##isa(void *k, void *v, const float *key, const float *value, uint32_t slot,                  \
                               uint32_t head_dim);                                                                     \
    void st_attention_f16_##isa(const st_attention *a);                                                                \
    void st_attention_f32_##isa(const st_attention *a);                                                                \
    uint32_t st_argmax_##isa(const float *x, uint32_t n);                                                              \
    float st_dot_##isa(const float *a, const float *b, uint32_t n);                                                    \
    uint64_t st_stream_##isa(const uint8_t *data, size_t bytes, enum st_stream_order order);                           \
    uint32_t st_burn_dots_##isa(uint32_t rounds);                                                                      \
    uint32_t st_burn_f32_##isa(uint32_t rounds)

/* Initializers of all kernels in ST_KERN_OPS_DECL but the peaks of arithmetic. */
#define ST_KERN_OPS(isa)                                                                                               \
    .quantize = st_quantize_##isa, .rms_norm = st_rms_norm_##isa, .add = st_add_##isa, .scale = st_scale_##isa,        \
    .softcap = st_softcap_##isa, .gate = st_gate_##isa, .rope = st_rope_##isa,                                         \
    .kv_store = {[ST_KV_F16] = st_kv_store_f16_##isa, [ST_KV_F32] = st_kv_store_f32_##isa},                            \
    .attention = {[ST_KV_F16] = st_attention_f16_##isa, [ST_KV_F32] = st_attention_f32_##isa},                         \
    .argmax = st_argmax_##isa, .dot = st_dot_##isa, .stream = st_stream_##isa

/* The lines that a stream reads at once are `apart` bytes from each other, and `step` from the next ones, of which
 * there are n; what is left lies behind them all. */
typedef struct st_stream_walk {
    size_t n, step, apart;
} st_stream_walk;
static inline st_stream_walk st_stream_walk_of(size_t bytes, enum st_stream_order order) {
    size_t n = bytes / 256;
    return order == ST_STREAM_ONE ? (st_stream_walk){n, 256, 64} : (st_stream_walk){n, 64, n * 64};
}

/* One table an instruction set; those of other processors are not built. */
extern const st_kern st_kern_scalar;
#if defined(__x86_64__)
extern const st_kern st_kern_avx2, st_kern_avxvnni, st_kern_avx512;
#elif defined(__aarch64__)
extern const st_kern st_kern_neon, st_kern_dotprod, st_kern_i8mm;
#endif

#endif
