/* SPDX-License-Identifier: MIT
 * A model with its golden answers, and chains over it, for tests. Failures end the test with what went wrong. */
#ifndef ST_TEST_FIXTURE_H
#define ST_TEST_FIXTURE_H

#include "base/host.h"
#include "device/chain.h"
#include "device/cpu.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* First of n kernel tables, worst to best, to be tested: what the sanitizers look for does not depend on the table, so
 * they get the best one only. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FIRST_TABLE(n) ((n)-1)
#else
#define FIRST_TABLE(n) 0
#endif

typedef struct fixture {
    st_gguf *gguf;
    st_model *model;
    st_host host;
    const atomic_bool *stop; /* of the chains, or NULL */
    st_unit *units[2];       /* opened on demand, see fixture_unit */
    unsigned n_units;
} fixture;

static inline void fixture_check(int code, const stretto_error *err) {
    if (code) fail_msg("%s", err->text);
}

static inline void fixture_open(fixture *f, const char *path, const char *kern_name) {
    stretto_error err = {0};
    const st_kern *kern = NULL;
    memset(f, 0, sizeof *f);
    fixture_check(st_kern_select(&kern, kern_name, &err), &err);
    fixture_check(st_gguf_open(&f->gguf, path, NULL, &err), &err);
    st_model_options options = {.kern = kern};
    fixture_check(st_model_load(&f->model, f->gguf, &options, &err), &err);
    fixture_check(st_host_read(&f->host, "", &err), &err);
}

/* A lane of up to n_threads cores starting at core `first`; closed with the fixture. Fewer cores here give fewer
 * threads. */
static inline st_unit *fixture_unit(fixture *f, unsigned first, unsigned n_threads) {
    stretto_error err = {0};
    unsigned cores[8], n = 0;
    for (unsigned i = first; i < f->host.n_cores && n < n_threads && n < 8; i++) cores[n++] = i;
    if (n == 0) cores[n++] = 0;
    st_cpu_options options = {.cores = cores, .n_cores = n};
    assert_true(f->n_units < 2);
    fixture_check(st_cpu_open(&f->units[f->n_units], &f->host, &options, &err), &err);
    return f->units[f->n_units++];
}

static inline void fixture_close_units(fixture *f) {
    while (f->n_units) st_unit_close(f->units[--f->n_units]);
}

static inline void fixture_close(fixture *f) {
    fixture_close_units(f);
    st_host_free(&f->host);
    st_model_free(f->model);
    st_gguf_close(f->gguf);
}

/* A chain cut as `split` says; chunk i runs on units[i % n_units]. */
static inline st_chain *fixture_chain(fixture *f, const char *split, enum st_kv_type kv_type, uint32_t n_ctx,
                                      uint32_t max_batch, uint32_t max_logits, const st_trace *trace) {
    stretto_error err = {0};
    st_span spans[ST_MAX_CHUNKS];
    st_unit *units[ST_MAX_CHUNKS];
    uint32_t n = 0;
    fixture_check(st_split_parse(spans, &n, split, f->model, &err), &err);
    for (uint32_t i = 0; i < n; i++) units[i] = f->units[i % f->n_units];
    st_chain_options options = {.model = f->model,
                                .spans = spans,
                                .n_chunks = n,
                                .units = units,
                                .kv_type = kv_type,
                                .n_ctx = n_ctx,
                                .max_batch = max_batch,
                                .max_logits = max_logits,
                                .stop = f->stop,
                                .trace = trace};
    st_chain *chain = NULL;
    fixture_check(st_chain_open(&chain, &options, &err), &err);
    return chain;
}

static inline json_t *golden_load(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", ST_GOLDEN, name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s:%d: %s", path, error.line, error.text);
    return root;
}

/* The array `list` of whole numbers; the caller frees. */
static inline int32_t *golden_ids(const json_t *list, uint32_t *n) {
    *n = (uint32_t)json_array_size(list);
    int32_t *ids = calloc(*n + 1, sizeof *ids);
    assert_non_null(ids);
    for (uint32_t i = 0; i < *n; i++) ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return ids;
}

#endif
