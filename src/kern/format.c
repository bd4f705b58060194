/* SPDX-License-Identifier: MIT
 * The packed formats, the same for every instruction set. */
#include "kern/format.h"

#include "kern/layout.h"

#define FORMAT(name, number, columns, bytes, ints, packer)                                                             \
    const st_kern_format st_format_##name = {                                                                          \
        .type = number, .tile_cols = columns, .tile_bytes = bytes, .quantized = ints, .pack = packer}

FORMAT(f32, ST_F32, 1, 64, false, st_pack_f32);
FORMAT(f16, ST_F16, 1, 32, false, st_pack_f16);
FORMAT(bf16, ST_BF16, 1, 32, false, st_pack_f16);
FORMAT(q4_0, ST_Q4_0, 32, ST_TILE_Q4_0, true, st_pack_q4_0);
FORMAT(q4_1, ST_Q4_1, 32, ST_TILE_Q4_1, true, st_pack_q4_1);
FORMAT(q5_0, ST_Q5_0, 32, ST_TILE_Q5_0, true, st_pack_q5_0);
FORMAT(q5_1, ST_Q5_1, 32, ST_TILE_Q5_1, true, st_pack_q5_1);
FORMAT(q8_0, ST_Q8_0, 32, ST_TILE_Q8_0, true, st_pack_q8_0);
FORMAT(iq4_nl, ST_IQ4_NL, 32, ST_TILE_Q4_0, true, st_pack_q4_0);
FORMAT(q2_k, ST_Q2_K, 256, ST_TILE_Q2_K, true, st_pack_q2_k);
FORMAT(q3_k, ST_Q3_K, 256, ST_TILE_Q6_K, true, st_pack_q3_k);
FORMAT(q4_k, ST_Q4_K, 256, ST_TILE_Q4_K, true, st_pack_q4_k);
FORMAT(q5_k, ST_Q5_K, 256, ST_TILE_Q5_K, true, st_pack_q5_k);
FORMAT(q6_k, ST_Q6_K, 256, ST_TILE_Q6_K, true, st_pack_q6_k);
FORMAT(iq4_xs, ST_IQ4_XS, 256, ST_TILE_IQ4_XS, true, st_pack_iq4_xs);

size_t st_strip_bytes(const st_kern_format *format, uint32_t cols) {
    if (cols == 0 || cols % format->tile_cols != 0) return 0;
    const size_t bytes = (size_t)(cols / format->tile_cols) * format->tile_bytes;
    return (bytes + 63) / 64 * 64;
}
