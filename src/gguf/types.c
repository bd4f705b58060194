/* SPDX-License-Identifier: MIT
 * The type table. Numbers, block lengths and sizes are those of ggml (ggml.h, ggml-common.h, gguf-py's constants).
 * Numbers that were withdrawn keep the shape they had, so that a file with them can still be listed. 42 is left out on
 * purpose: it was given out with two different block shapes, so its size cannot be known. */
#include "gguf/types.h"

#include <strings.h>

// clang-format off
static const st_type_info type_table[ST_TYPE_COUNT] = {
    [ST_F32] = {"F32", 1, 4, true},
    [ST_F16] = {"F16", 1, 2, true},
    [ST_Q4_0] = {"Q4_0", 32, 18, true},
    [ST_Q4_1] = {"Q4_1", 32, 20, true},
    [4] = {"Q4_2", 16, 10, false},
    [5] = {"Q4_3", 16, 12, false},
    [ST_Q5_0] = {"Q5_0", 32, 22, true},
    [ST_Q5_1] = {"Q5_1", 32, 24, true},
    [ST_Q8_0] = {"Q8_0", 32, 34, true},
    [ST_Q8_1] = {"Q8_1", 32, 36, false},
    [ST_Q2_K] = {"Q2_K", 256, 84, true},
    [ST_Q3_K] = {"Q3_K", 256, 110, true},
    [ST_Q4_K] = {"Q4_K", 256, 144, true},
    [ST_Q5_K] = {"Q5_K", 256, 176, true},
    [ST_Q6_K] = {"Q6_K", 256, 210, true},
    [ST_Q8_K] = {"Q8_K", 256, 292, false},
    [16] = {"IQ2_XXS", 256, 66, false},
    [17] = {"IQ2_XS", 256, 74, false},
    [18] = {"IQ3_XXS", 256, 98, false},
    [19] = {"IQ1_S", 256, 50, false},
    [ST_IQ4_NL] = {"IQ4_NL", 32, 18, true},
    [21] = {"IQ3_S", 256, 110, false},
    [22] = {"IQ2_S", 256, 82, false},
    [ST_IQ4_XS] = {"IQ4_XS", 256, 136, true},
    [ST_I8] = {"I8", 1, 1, false},
    [ST_I16] = {"I16", 1, 2, false},
    [ST_I32] = {"I32", 1, 4, false},
    [ST_I64] = {"I64", 1, 8, false},
    [ST_F64] = {"F64", 1, 8, false},
    [29] = {"IQ1_M", 256, 56, false},
    [ST_BF16] = {"BF16", 1, 2, true},
    [31] = {"Q4_0_4_4", 32, 18, false},
    [32] = {"Q4_0_4_8", 32, 18, false},
    [33] = {"Q4_0_8_8", 32, 18, false},
    [34] = {"TQ1_0", 256, 54, false},
    [35] = {"TQ2_0", 256, 66, false},
    [36] = {"IQ4_NL_4_4", 32, 18, false},
    [37] = {"IQ4_NL_4_8", 32, 18, false},
    [38] = {"IQ4_NL_8_8", 32, 18, false},
    [39] = {"MXFP4", 32, 17, false},
    [40] = {"NVFP4", 64, 36, false},
    [41] = {"Q1_0", 128, 18, false},
};
// clang-format on

const st_type_info *st_type_find(uint32_t type) {
    return type < ST_TYPE_COUNT && type_table[type].name ? &type_table[type] : NULL;
}

int st_type_by_name(const char *name) {
    for (int type = 0; type < ST_TYPE_COUNT; type++)
        if (type_table[type].name && strcasecmp(type_table[type].name, name) == 0) return type;
    return -1;
}
