/* SPDX-License-Identifier: MIT */
#include "model/arch.h"
#include "model/hparams.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/host.h"
#include "base/utf8.h"
#include "gguf/message.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const st_arch *const archs[] = {&st_arch_llama, &st_arch_qwen2, &st_arch_qwen3, &st_arch_gemma3,
                                       &st_arch_gemma4};
#define N_ARCHS (sizeof archs / sizeof *archs)

const char *st_model_arch_name(const st_model *model) {
    return model->arch->name;
}

/* Those that are supported, comma-separated. */
static void arch_names(char *text, size_t size) {
    size_t at = 0;
    for (size_t i = 0; i < N_ARCHS && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", archs[i]->name);
}

static int find_arch(st_model *model, stretto_error *err) {
    st_str name = {0};
    int code = st_gguf_str(model->gguf, "general.architecture", true, &name, err);
    if (code) return code;
    for (size_t i = 0; i < N_ARCHS; i++)
        if (st_str_equal(name, archs[i]->name)) {
            model->arch = archs[i];
            return 0;
        }
    char names[128];
    arch_names(names, sizeof names);
    return st_fail(err, STRETTO_E_INPUT, "%s: architecture \"%.*s\" is not supported; supported: %s", model->gguf->path,
                   (int)st_utf8_cut(name.data, name.len, 64), name.data, names);
}

/* general.name, or the file's name. */
static void read_name(st_model *model) {
    st_str name = {0};
    stretto_error ignored;
    if (st_gguf_str(model->gguf, "general.name", false, &name, &ignored) == 0 && name.len) {
        snprintf(model->name, sizeof model->name, "%.*s", (int)st_utf8_cut(name.data, name.len, sizeof model->name - 1),
                 name.data);
    } else {
        const char *slash = strrchr(model->gguf->path, '/'), *file = slash ? slash + 1 : model->gguf->path;
        snprintf(model->name, sizeof model->name, "%.*s", ST_CUT(file, sizeof model->name - 1));
    }
    st_utf8_tame(model->name); /* it is shown on terminals */
}

/* What all architectures have in a layer. */
static int bind_layer(st_model *m, st_binder *bind, uint32_t i, stretto_error *err) {
    st_layer *l = &m->layers[i];
    uint64_t d = m->d_model, heads = (uint64_t)l->n_heads * l->head_dim, kv = (uint64_t)l->n_kv_heads * l->head_dim;
    int code = st_bind_vector(bind, &l->attn_norm, d, true, err, "blk.%u.attn_norm.weight", i);
    if (!code) code = st_bind_matrix(bind, &l->q, heads, d, err, "blk.%u.attn_q.weight", i);
    if (!code && l->kv_layer == i) {
        code = st_bind_matrix(bind, &l->k, kv, d, err, "blk.%u.attn_k.weight", i);
        if (!code && !l->v_from_k) code = st_bind_matrix(bind, &l->v, kv, d, err, "blk.%u.attn_v.weight", i);
    } else if (!code) {
        /* Files carry them for the layers that borrow, too. */
        st_bind_spare(bind, "blk.%u.attn_k.weight", i);
        st_bind_spare(bind, "blk.%u.attn_v.weight", i);
        st_bind_spare(bind, "blk.%u.attn_k_norm.weight", i);
    }
    if (!code) code = st_bind_matrix(bind, &l->o, d, heads, err, "blk.%u.attn_output.weight", i);
    if (!code) code = st_bind_vector(bind, &l->ffn_norm, d, true, err, "blk.%u.ffn_norm.weight", i);
    if (!code) code = st_bind_matrix(bind, &l->gate, l->n_ff, d, err, "blk.%u.ffn_gate.weight", i);
    if (!code) code = st_bind_matrix(bind, &l->up, l->n_ff, d, err, "blk.%u.ffn_up.weight", i);
    if (!code) code = st_bind_matrix(bind, &l->down, d, l->n_ff, err, "blk.%u.ffn_down.weight", i);
    if (!code && m->arch->layer) code = m->arch->layer(m, bind, i, err);
    return code;
}

static int bind_whole(st_model *m, st_binder *bind, stretto_error *err) {
    int code = st_bind_rows(bind, &m->embed, m->n_vocab, m->d_model, err, "token_embd.weight");
    if (!code) code = st_bind_vector(bind, &m->final_norm, m->d_model, true, err, "output_norm.weight", 0);
    m->tied = !st_bind_has(bind, "output.weight", 0);
    const char *head = m->tied ? "token_embd.weight" : "output.weight";
    if (!code) code = st_bind_matrix(bind, &m->head, m->n_vocab, m->d_model, err, head, 0);
    if (!code && m->arch->whole) code = m->arch->whole(m, bind, err);
    return code;
}

static int check_room(st_model *m, const st_binder *bind, uint64_t memory, stretto_error *err) {
    uint64_t most = m->memory = memory ? memory : st_host_memory_most("");
    if (bind->region_bytes <= most) return STRETTO_OK;
    int code =
        st_fail(err, STRETTO_E_MEMORY,
                "the weights take %s of memory, but all that this process may have here is %s (the machine's, or "
                "its control group's limit)",
                ST_BYTES(bind->region_bytes), ST_BYTES(most));
    return err ? st_fail_in_file(err, bind->gguf->path) : code;
}

static int load(st_model *m, st_binder *bind, const st_model_options *options, stretto_error *err) {
    int code = st_gguf_require_whole(bind->gguf, err);
    if (!code) code = find_arch(m, err);
    if (code) return code;
    read_name(m);
    code = m->arch->shape(m, bind, err);
    if (!code) code = bind_whole(m, bind, err);
    for (uint32_t i = 0; i < m->n_layers && !code; i++) code = bind_layer(m, bind, i, err);
    if (!code) code = st_bind_rest(bind, err);
    if (!code && !options->shapes_only) code = check_room(m, bind, options->memory, err);
    if (!code && !options->shapes_only) code = st_bind_pack(bind, options->pool, err);
    return code;
}

int st_model_load(st_model **out, const st_gguf *gguf, const st_model_options *options, stretto_error *err) {
    *out = NULL;
    st_model *m = calloc(1, sizeof *m);
    if (!m) return st_fail_memory(err, "model", sizeof *m);
    uint64_t start = st_now_ns();
    m->gguf = gguf;
    m->kern = options->kern;
    m->weights.fd = -1;
    st_binder bind = {.model = m, .gguf = gguf, .kern = options->kern, .log = options->log, .stop = options->stop};
    bind.used = calloc(gguf->n_tensors + 1, sizeof *bind.used);
    int code = bind.used ? load(m, &bind, options, err) : st_fail_memory(err, "model", gguf->n_tensors);
    free(bind.packs);
    free(bind.used);
    if (code) {
        st_model_free(m);
        return code;
    }
    m->load_ns = st_now_ns() - start;
    *out = m;
    return 0;
}

void st_model_free(st_model *model) {
    if (!model) return;
    st_region_destroy(&model->weights);
    st_arena_free(model);
    free(model);
}

/* ---- costs of a decode step ---- */

static const size_t layer_matrices[ST_LAYER_MATRICES] = {
    offsetof(st_layer, q),    offsetof(st_layer, k),        offsetof(st_layer, v),
    offsetof(st_layer, o),    offsetof(st_layer, gate),     offsetof(st_layer, up),
    offsetof(st_layer, down), offsetof(st_layer, ple_gate), offsetof(st_layer, ple_proj)};

const st_matrix *st_layer_matrix(const st_layer *layer, uint32_t i) {
    return (const st_matrix *)((const uint8_t *)layer + layer_matrices[i]);
}

uint64_t st_layer_bytes(const st_model *model, uint32_t layer) {
    const st_layer *l = &model->layers[layer];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < ST_LAYER_MATRICES; i++) bytes += st_layer_matrix(l, i)->file_bytes;
    const float *norms[] = {l->attn_norm, l->post_attn_norm, l->ffn_norm, l->post_ffn_norm, l->ple_norm};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        if (norms[i]) bytes += model->d_model * sizeof(float);
    return bytes;
}

uint64_t st_layer_operations(const st_model *model, uint32_t layer) {
    uint64_t operations = 0;
    for (uint32_t i = 0; i < ST_LAYER_MATRICES; i++) {
        const st_matrix *m = st_layer_matrix(&model->layers[layer], i);
        operations += (uint64_t)m->rows * m->cols;
    }
    return operations;
}

uint64_t st_head_bytes(const st_model *model) {
    return model->head.file_bytes + model->d_model * sizeof(float);
}

uint64_t st_head_operations(const st_model *model) {
    return (uint64_t)model->head.rows * model->head.cols;
}
