/* SPDX-License-Identifier: MIT
 * What the files of synth share: shapes of the named models, the plan of a file, its vocabulary, random blocks. */
#ifndef ST_MODEL_SYNTH_IMPL_H
#define ST_MODEL_SYNTH_IMPL_H

#include "base/rng.h"
#include "gguf/writer.h"
#include "model/synth.h"

#define SYNTH_MAX_LAYERS 64 /* of the named models */

enum synth_vocab_kind { SYNTH_SMOLLM, SYNTH_LLAMA3, SYNTH_QWEN2, SYNTH_GEMMA3, SYNTH_GEMMA4 };

typedef struct synth_shape {
    const char *name, *arch;
    enum synth_vocab_kind vocab;
    uint32_t n_layers, d_model, n_heads, n_kv_heads, n_ff, n_vocab, n_ctx;
    uint32_t head_dim;       /* of full layers */
    uint32_t head_dim_swa;   /* of sliding layers; the same as head_dim where there is one kind */
    uint32_t window, period; /* sliding window, 0 = none; every period-th layer is full */
    uint32_t n_shared;       /* last layers that borrow KV */
    uint32_t wide;           /* feed-forward of those layers is this many times n_ff */
    uint32_t d_ple;          /* per-layer embedding size, 0 = none */
    float rope_base, rope_base_swa, eps, softcap;
    float rope_factor; /* Llama 3's stretching of slow pairs, 0 = none */
} synth_shape;

const synth_shape *st_synth_shape(const char *name); /* NULL when unknown */
/* Widths and vocabulary times num/den, to the nearest multiple of 8 (head sizes must be one), at least 8. The
 * vocabulary stays large enough for its fixed tokens. */
synth_shape st_synth_shrink(const synth_shape *shape, uint32_t num, uint32_t den);

static inline bool st_synth_slides(const synth_shape *s, uint32_t layer) {
    return s->window && layer % s->period != s->period - 1;
}

/* ---- the plan: every tensor of the file, in order ---- */
enum synth_content {
    SYNTH_WEIGHT,      /* random around 0 with standard deviation a */
    SYNTH_GAIN,        /* uniform in a..b */
    SYNTH_ROPE_LLAMA3, /* factors of rope_freqs.weight */
    SYNTH_ROPE_PART,   /* 1 for the first quarter of the pairs, 1e30 (no turn) for the rest */
};
typedef struct synth_tensor {
    char name[64];
    uint32_t type;
    uint32_t n_dims;
    uint64_t cols, rows;
    enum synth_content content;
    float a, b;
    bool fell_back; /* rows are not whole blocks of the type that was asked for */
} synth_tensor;
typedef struct synth_plan {
    synth_tensor *tensors; /* [n], owned */
    size_t n, cap;
    bool failed; /* out of memory */
} synth_plan;

void st_synth_plan(synth_plan *plan, const synth_shape *shape, uint32_t type);
void st_synth_metadata(st_gguf_writer *w, const synth_shape *shape, const st_synth_options *options);
static inline size_t st_synth_row_bytes(const synth_tensor *t) {
    const st_type_info *info = st_type_find(t->type);
    return t->cols / info->block_len * info->block_bytes;
}

/* ---- the vocabulary ---- */
/* The smallest vocabulary of a kind: its special tokens, bytes and characters, and a few merged pieces. */
uint32_t st_synth_vocab_least(enum synth_vocab_kind kind);
int st_synth_vocab(st_gguf_writer *w, enum synth_vocab_kind kind, uint32_t n_vocab, stretto_error *err);

/* ---- random blocks ---- */
typedef struct synth_blocks {
    st_rng rng;
    uint32_t type;
    float sigma;
    uint16_t d[64], m[64]; /* f16 block scales and minimums to draw from */
} synth_blocks;
/* Draws n elements (whole blocks) of the type, mean 0 and standard deviation sigma, straight in the format: the
 * quantized integers are random bits, and only scales are computed. Any readable type; dst may be unaligned. */
void st_synth_blocks_init(synth_blocks *b, uint32_t type, float sigma, uint64_t seed);
void st_synth_blocks_fill(synth_blocks *b, uint8_t *dst, size_t n);

#endif
