/* SPDX-License-Identifier: MIT */
#include "stretto/model.h"

#include "api/api.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Threads that repack: no more than the machine allows. */
static int open_pool(st_pool **pool, unsigned threads, const st_log *log, stretto_error *err) {
    if (threads == 0) {
        st_host host;
        int code = st_host_read(&host, "", err);
        if (code) return code;
        threads = host.max_threads;
        st_host_free(&host);
    }
    st_pool_options options = {.count = threads, .log = log};
    return st_pool_create(pool, &options, err);
}

static int load(stretto_model *model, const char *path, const stretto_model_options *options, stretto_error *err) {
    const st_log *log = st_api_log_init(&model->log, options->log);
    const st_kern *kern = NULL;
    st_pool *pool = NULL;
    int code = st_kern_select(&kern, options->kernels, err);
    if (!code) st_kern_warn_slow(kern, log);
    if (!code) code = st_gguf_open(&model->gguf, path, log, err);
    if (!code) code = open_pool(&pool, options->threads, log, err);
    if (code) return code;
    st_model_options inner = {.kern = kern, .pool = pool, .log = log};
    code = st_model_load(&model->model, model->gguf, &inner, err);
    st_pool_destroy(pool);
    return code;
}

int stretto_model_open(stretto_model **out, const char *path, const stretto_model_options *options,
                       stretto_error *err) {
    static const stretto_model_options defaults;
    *out = NULL;
    stretto_model *model = calloc(1, sizeof *model);
    if (!model) return st_fail_memory(err, "model", sizeof *model);
    int code = load(model, path, options ? options : &defaults, err);
    if (code) {
        stretto_model_close(model);
        return code;
    }
    *out = model;
    return STRETTO_OK;
}

void stretto_model_close(stretto_model *model) {
    if (!model) return;
    st_model_free(model->model);
    st_gguf_close(model->gguf);
    free(model);
}

void stretto_model_info_get(const stretto_model *model, stretto_model_info *info) {
    const st_model *m = model->model;
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", m->name);
    snprintf(info->architecture, sizeof info->architecture, "%s", st_model_arch_name(m));
    snprintf(info->kernels, sizeof info->kernels, "%s", m->kern->name);
    info->n_layers = m->n_layers;
    info->d_model = m->d_model;
    info->n_vocab = m->n_vocab;
    info->n_ctx_train = m->n_ctx_train;
    info->step_bytes = st_head_bytes(m);
    info->operations = st_head_operations(m);
    for (uint32_t i = 0; i < m->n_layers; i++) {
        info->step_bytes += st_layer_bytes(m, i);
        info->operations += st_layer_operations(m, i);
    }
    info->load_ns = m->load_ns;
}
