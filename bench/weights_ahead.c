/* SPDX-License-Identifier: MIT
 * Host work beside the chain that Stretto does not do, and what it would be worth: while one core decodes, another one
 * reads the weights of the next layers into the cache that both share.
 *
 * Timed is a decode step of the whole model on one core, from submission to the logits: plain, and with the reader.
 * Both take turns, who goes first alternates, and every sample is the mean of STEPS steps after one that is not timed.
 * The ratio is plain over with the reader, so above 1 the reader pays; where its interval holds 1 no gain was measured.
 *
 *   weights_ahead MODEL.gguf [ROUNDS [LAYERS_AHEAD]] */
#include "base/clock.h"
#include "base/error.h"
#include "base/spin.h"
#include "base/thread.h"
#include "device/chain.h"
#include "device/cpu.h"
#include "stat/stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 16
#define ROUNDS_MOST 1000
#define N_CTX 64
#define LINE 64

typedef struct bench {
    st_gguf *gguf;
    st_model *model;
    st_host host;
    st_unit *unit;
    st_chain *chain;
    uint32_t rounds, ahead;
    atomic_uint step, done; /* number of the step, and layers that it has behind it */
    atomic_bool reading, ends;
    st_trace trace;
    double plain[ROUNDS_MOST], beside[ROUNDS_MOST], ratio[ROUNDS_MOST];
    uint64_t sum; /* of all that the reader read, so that it is read */
} bench;

/* ---- the reader ---- */

static uint64_t read_matrix(const st_matrix *m) {
    const uint8_t *data = m->data;
    uint64_t sum = 0, word;
    size_t bytes = data ? m->strip_bytes * st_matrix_strips(m) : 0;
    for (size_t i = 0; i + sizeof word <= bytes; i += LINE) {
        memcpy(&word, data + i, sizeof word);
        sum += word;
    }
    return sum;
}

/* The head counts as the layer after the last one. */
static uint64_t read_layer(const st_model *model, uint32_t layer) {
    uint64_t sum = 0;
    if (layer == model->n_layers) return read_matrix(&model->head);
    for (uint32_t m = 0; m < ST_LAYER_MATRICES; m++) sum += read_matrix(st_layer_matrix(&model->layers[layer], m));
    return sum;
}

/* In each step layer after layer, none that is behind already, and none that is further ahead than asked for. */
static void *reader_main(void *arg) {
    bench *b = arg;
    uint32_t next = 0;
    unsigned step = 0;
    while (!atomic_load(&b->ends)) {
        if (atomic_load(&b->step) != step) step = atomic_load(&b->step), next = 0;
        uint32_t now = atomic_load_explicit(&b->done, memory_order_acquire);
        if (next <= now) next = now + 1; /* the layer after the one that is being computed */
        if (!atomic_load(&b->reading) || next > b->model->n_layers || next > now + b->ahead)
            st_spin_pause();
        else
            b->sum += read_layer(b->model, next++);
    }
    return NULL;
}

static void note_layer(void *arg, enum st_trace_point point, uint32_t layer, const float *rows, uint32_t n,
                       uint32_t width, size_t stride) {
    bench *b = arg;
    (void)rows, (void)n, (void)width, (void)stride;
    if (point == ST_TRACE_LAYER) atomic_store_explicit(&b->done, layer + 1, memory_order_release);
}

/* ---- the decode ---- */

static int step(bench *b, stretto_error *err) {
    static const int32_t id = 1;
    atomic_store(&b->done, 0);
    atomic_fetch_add(&b->step, 1);
    return st_chain_forward(b->chain, &id, 1, ST_WANT_LAST, NULL, NULL, err);
}

static int sample(bench *b, bool reading, double *ns, stretto_error *err) {
    st_chain_reset(b->chain);
    atomic_store(&b->reading, reading);
    int rc = step(b, err);
    uint64_t start = st_now_ns();
    for (unsigned i = 0; i < STEPS && !rc; i++) rc = step(b, err);
    *ns = (double)(st_now_ns() - start) / STEPS;
    atomic_store(&b->reading, false);
    return rc;
}

static int measure(bench *b, stretto_error *err) {
    double warm;
    int rc = sample(b, false, &warm, err);
    for (uint32_t r = 0; r < b->rounds && !rc; r++) {
        for (unsigned turn = 0; turn < 2 && !rc; turn++) {
            bool reading = (r + turn) % 2;
            rc = sample(b, reading, reading ? &b->beside[r] : &b->plain[r], err);
        }
        b->ratio[r] = b->plain[r] / b->beside[r];
    }
    return rc;
}

static int report(bench *b, stretto_error *err) {
    st_rng rng;
    st_interval gain;
    st_rng_seed(&rng, 1);
    int rc = st_bootstrap_median(b->ratio, b->rounds, 0.95, 2000, &rng, &gain, err);
    if (rc) return rc;
    printf("%s, %u rounds, up to %u layers ahead: plain %.3f ms, with the reader %.3f ms a step (medians); "
           "plain over with the reader %.3f, 95 %% interval %.3f to %.3f\n",
           b->model->name, b->rounds, b->ahead, st_median(b->plain, b->rounds) / 1e6,
           st_median(b->beside, b->rounds) / 1e6, gain.value, gain.lo, gain.hi);
    return STRETTO_OK;
}

static int open_chain(bench *b, const char *path, stretto_error *err) {
    const st_kern *kern = NULL;
    const unsigned core = 0;
    st_cpu_options lane = {.cores = &core, .n_cores = 1, .pin = true};
    b->trace = (st_trace){.fn = note_layer, .arg = b};
    int rc = st_kern_select(&kern, NULL, err);
    if (!rc) rc = st_gguf_open(&b->gguf, path, NULL, err);
    if (!rc) rc = st_model_load(&b->model, b->gguf, &(st_model_options){.kern = kern}, err);
    if (!rc) rc = st_host_read(&b->host, "", err);
    if (!rc && b->host.n_cores < 2) rc = st_fail(err, STRETTO_E_USAGE, "one core is allowed here: expected two");
    if (!rc) rc = st_cpu_open(&b->unit, &b->host, &lane, err);
    if (rc) return rc;
    st_span all = {.first = 0, .last = b->model->n_layers - 1};
    st_chain_options options = {
        .model = b->model, .spans = &all, .n_chunks = 1, .units = &b->unit, .n_ctx = N_CTX, .trace = &b->trace};
    return st_chain_open(&b->chain, &options, err);
}

static int run(bench *b, const char *path, stretto_error *err) {
    pthread_t reader;
    int rc = open_chain(b, path, err);
    if (!rc) rc = st_thread_start(&reader, reader_main, b, "reader", err);
    if (rc) return rc;
    st_thread_bind(reader, b->host.cores[1].cpu, NULL);
    rc = measure(b, err);
    atomic_store(&b->ends, true);
    pthread_join(reader, NULL);
    return rc ? rc : report(b, err);
}

static uint32_t number(const char *text, uint32_t most) {
    unsigned long n = strtoul(text, NULL, 10);
    return n < 1 ? 1 : n > most ? most : (uint32_t)n;
}

int main(int argc, char **argv) {
    static bench b;
    stretto_error err = {0};
    if (argc < 2) {
        fprintf(stderr, "weights_ahead: MODEL.gguf [ROUNDS [LAYERS_AHEAD]]\n");
        return 2;
    }
    b.rounds = argc > 2 ? number(argv[2], ROUNDS_MOST) : 30;
    b.ahead = argc > 3 ? number(argv[3], 1000) : 2;
    int rc = run(&b, argv[1], &err);
    if (rc) fprintf(stderr, "weights_ahead: %s\n", err.text);
    st_chain_close(b.chain);
    if (b.unit) st_unit_close(b.unit);
    st_host_free(&b.host);
    st_model_free(b.model);
    st_gguf_close(b.gguf);
    return rc ? rc == STRETTO_E_USAGE ? 77 : 1 : 0;
}
