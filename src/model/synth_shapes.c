/* SPDX-License-Identifier: MIT
 * Shapes as in the models' published configurations (config.json beside the original weights) and in the metadata of
 * GGUF conversions of them. All of these tie the head to the embedding. */
#include "model/synth_impl.h"

#include <string.h>

/* clang-format off */
static const synth_shape shapes[] = {
    {.name = "smollm2-135m", .arch = "llama", .vocab = SYNTH_SMOLLM, .n_layers = 30, .d_model = 576, .n_heads = 9,
     .n_kv_heads = 3, .head_dim = 64, .head_dim_swa = 64, .n_ff = 1536, .n_vocab = 49152, .n_ctx = 8192,
     .rope_base = 1e5f, .eps = 1e-5f},
    {.name = "gemma3-270m", .arch = "gemma3", .vocab = SYNTH_GEMMA3, .n_layers = 18, .d_model = 640, .n_heads = 4,
     .n_kv_heads = 1, .head_dim = 256, .head_dim_swa = 256, .n_ff = 2048, .n_vocab = 262144, .n_ctx = 32768,
     .window = 512, .period = 6, .rope_base = 1e6f, .eps = 1e-6f},
    {.name = "gemma3-1b", .arch = "gemma3", .vocab = SYNTH_GEMMA3, .n_layers = 26, .d_model = 1152, .n_heads = 4,
     .n_kv_heads = 1, .head_dim = 256, .head_dim_swa = 256, .n_ff = 6912, .n_vocab = 262144, .n_ctx = 32768,
     .window = 512, .period = 6, .rope_base = 1e6f, .eps = 1e-6f},
    {.name = "llama-3.2-1b", .arch = "llama", .vocab = SYNTH_LLAMA3, .n_layers = 16, .d_model = 2048, .n_heads = 32,
     .n_kv_heads = 8, .head_dim = 64, .head_dim_swa = 64, .n_ff = 8192, .n_vocab = 128256, .n_ctx = 131072,
     .rope_base = 5e5f, .eps = 1e-5f, .rope_factor = 32},
    {.name = "qwen3-0.6b", .arch = "qwen3", .vocab = SYNTH_QWEN2, .n_layers = 28, .d_model = 1024, .n_heads = 16,
     .n_kv_heads = 8, .head_dim = 128, .head_dim_swa = 128, .n_ff = 3072, .n_vocab = 151936, .n_ctx = 40960,
     .rope_base = 1e6f, .eps = 1e-6f},
    {.name = "gemma4-e2b", .arch = "gemma4", .vocab = SYNTH_GEMMA4, .n_layers = 35, .d_model = 1536, .n_heads = 8,
     .n_kv_heads = 1, .head_dim = 512, .head_dim_swa = 256, .n_ff = 6144, .n_vocab = 262144, .n_ctx = 131072,
     .window = 512, .period = 5, .n_shared = 20, .wide = 2, .d_ple = 256, .rope_base = 1e6f, .rope_base_swa = 1e4f,
     .eps = 1e-6f, .softcap = 30},
    {.name = "gemma4-e4b", .arch = "gemma4", .vocab = SYNTH_GEMMA4, .n_layers = 42, .d_model = 2560, .n_heads = 8,
     .n_kv_heads = 2, .head_dim = 512, .head_dim_swa = 256, .n_ff = 10240, .n_vocab = 262144, .n_ctx = 131072,
     .window = 512, .period = 6, .n_shared = 18, .wide = 1, .d_ple = 256, .rope_base = 1e6f, .rope_base_swa = 1e4f,
     .eps = 1e-6f, .softcap = 30},
};
/* clang-format on */
#define N_SHAPES (sizeof shapes / sizeof shapes[0])

const char *st_synth_name(size_t i) {
    return i < N_SHAPES ? shapes[i].name : NULL;
}

const synth_shape *st_synth_shape(const char *name) {
    for (size_t i = 0; i < N_SHAPES; i++)
        if (strcmp(shapes[i].name, name) == 0) return &shapes[i];
    return NULL;
}

static uint32_t shrink(uint32_t width, uint32_t num, uint32_t den) {
    uint64_t eighths = ((uint64_t)width * num + 4 * (uint64_t)den) / (8 * (uint64_t)den);
    if (eighths == 0) eighths = width != 0;
    return (uint32_t)(8 * eighths);
}

synth_shape st_synth_shrink(const synth_shape *shape, uint32_t num, uint32_t den) {
    synth_shape s = *shape;
    s.d_model = shrink(s.d_model, num, den);
    s.head_dim = shrink(s.head_dim, num, den);
    s.head_dim_swa = shrink(s.head_dim_swa, num, den);
    s.n_ff = shrink(s.n_ff, num, den);
    s.d_ple = shrink(s.d_ple, num, den);
    s.n_vocab = shrink(s.n_vocab, num, den);
    uint32_t least = st_synth_vocab_least(s.vocab);
    if (s.n_vocab < least) s.n_vocab = least;
    return s;
}
