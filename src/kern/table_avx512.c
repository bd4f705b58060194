/* SPDX-License-Identifier: MIT
 * AVX-512 where it matters; the rest are the AVX2 kernels: what they work on is small, or only moved.
 */
#include "kern/avx512.h"
#include "kern/matmul_avx512.h"

const st_kern st_kern_avx512 = {
    .name = "avx512",
    .formats = ST_ALL_FORMATS,
    .matmul = ST_KERN_MATMULS(avx512, avx512),
    .quantize = st_quantize_avx512,
    .rms_norm = st_rms_norm_avx512,
    .add = st_add_avx512,
    .scale = st_scale_avx512,
    .softcap = st_softcap_avx512,
    .gate = st_gate_avx512,
    .rope = st_rope_avx2,
    .kv_store = {[ST_KV_F16] = st_kv_store_f16_avx2, [ST_KV_F32] = st_kv_store_f32_avx2},
    .attention = {[ST_KV_F16] = st_attention_f16_avx512, [ST_KV_F32] = st_attention_f32_avx512},
    .argmax = st_argmax_avx2,
    .dot = st_dot_avx512,
    .stream = st_stream_avx512,
    .burn = {[ST_BURN_DOTS] = st_burn_dots_avx512, [ST_BURN_F32] = st_burn_f32_avx512},
};
