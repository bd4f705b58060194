/* SPDX-License-Identifier: MIT */
#include "plan_beside.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "stat/stat.h"

#include <stdlib.h>
#include <time.h>

#define MICRO_BATCH 16
#define STEPS_LEAST 4
#define STEPS_MOST 2000
#define ALONE_NS 150000000ull /* of each turn: one lane, the other, both */
#define BESIDE_NS 300000000ull
#define TURNS 3
#define SLOWDOWN_LEAST 0.2
#define SLOWDOWN_MOST 100.0

/* A lane that decodes, or reads prompts, until it is told to stop. */
typedef struct worker {
    session *s;
    st_chain *chain;
    uint32_t depth;
    enum st_work work;
    const atomic_bool *stop;
    double *times; /* [n_chunks][STEPS_MOST] */
    uint32_t n;    /* steps */
    int rc;
    stretto_error err;
} worker;

/* The context that it decodes after. */
static int prepare(worker *w, stretto_error *err) {
    static const int32_t ids[MICRO_BATCH];
    st_chain_reset(w->chain);
    for (uint32_t left = w->depth, n; left > 0 && w->work == ST_WORK_DECODE; left -= n) {
        n = left < MICRO_BATCH ? left : MICRO_BATCH;
        int rc = st_chain_forward(w->chain, ids, n, ST_WANT_NONE, NULL, NULL, err);
        if (rc) return rc;
    }
    return STRETTO_OK;
}

static int step(worker *w) {
    static const int32_t ids[MICRO_BATCH];
    bool decode = w->work == ST_WORK_DECODE;
    int rc = st_chain_forward(w->chain, ids, decode ? 1 : MICRO_BATCH, decode ? ST_WANT_LAST : ST_WANT_NONE, NULL, NULL,
                              &w->err);
    if (rc) return rc;
    if (w->n < STEPS_MOST) {
        for (uint32_t c = 0; c < w->s->n_chunks; c++) {
            uint64_t start, end;
            st_chain_times(w->chain, c, &start, &end);
            w->times[(size_t)c * STEPS_MOST + w->n] = (double)(end - start);
        }
        w->n++;
    }
    uint32_t keep = decode ? w->depth : 0;
    bool full = st_chain_length(w->chain) + MICRO_BATCH > w->depth + MICRO_BATCH * 2;
    return decode || full ? st_chain_truncate(w->chain, keep, &w->err) : STRETTO_OK;
}

static void *work(void *arg) {
    worker *w = arg;
    w->rc = STRETTO_OK;
    while (!w->rc && (w->n < STEPS_LEAST || !atomic_load_explicit(w->stop, memory_order_relaxed))) w->rc = step(w);
    return NULL;
}

/* Lets one or both go for so long. */
static int go(worker *const *workers, unsigned n, uint64_t ns, atomic_bool *stop, stretto_error *err) {
    pthread_t threads[2];
    unsigned started = 0;
    int rc = STRETTO_OK;
    atomic_store(stop, false);
    for (; started < n && !rc; started += !rc) {
        workers[started]->stop = stop;
        workers[started]->n = 0;
        rc = st_thread_start(&threads[started], work, workers[started], "plan", err);
    }
    struct timespec nap = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    if (!rc) nanosleep(&nap, NULL);
    atomic_store(stop, true);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        if (!rc && workers[i]->rc) rc = st_fail(err, workers[i]->rc, "%s", workers[i]->err.text);
    }
    return rc;
}

/* The median of a chunk, but for the first step. */
static double median_time(worker *w, uint32_t c) {
    return w->n > 1 ? st_median(w->times + (size_t)c * STEPS_MOST + 1, w->n - 1) : 0;
}

static double sane(double slowdown) {
    return slowdown < SLOWDOWN_LEAST ? SLOWDOWN_LEAST : slowdown > SLOWDOWN_MOST ? SLOWDOWN_MOST : slowdown;
}

typedef struct pair_work {
    session *s;
    st_costs *costs;
    uint32_t unit[2];
    worker lane[2];
    double alone[2][ST_MAX_CHUNKS][TURNS], beside[2][ST_MAX_CHUNKS][TURNS];
} pair_work;

static int one_turn(pair_work *p, unsigned turn, stretto_error *err) {
    atomic_bool stop;
    atomic_init(&stop, false);
    for (unsigned i = 0; i < 2; i++) {
        worker *alone = &p->lane[i];
        int rc = go(&alone, 1, ALONE_NS, &stop, err);
        if (rc) return rc;
        st_unit_quiet(p->s->lanes.units[p->unit[i]]); /* its workers' waiting is no part of what comes */
        for (uint32_t c = 0; c < p->s->n_chunks; c++) p->alone[i][c][turn] = median_time(alone, c);
    }
    worker *both[2] = {&p->lane[0], &p->lane[1]};
    int rc = go(both, 2, BESIDE_NS, &stop, err);
    for (unsigned i = 0; i < 2 && !rc; i++) {
        st_unit_quiet(p->s->lanes.units[p->unit[i]]);
        for (uint32_t c = 0; c < p->s->n_chunks; c++) p->beside[i][c][turn] = median_time(both[i], c);
    }
    return rc;
}

static int note(pair_work *p, stretto_error *err) {
    for (unsigned i = 0; i < 2; i++) {
        uint32_t x = p->unit[i], y = p->unit[1 - i];
        enum st_work own = p->lane[i].work, other = p->lane[1 - i].work;
        double sum = 0;
        for (uint32_t c = 0; c < p->s->n_chunks; c++) {
            double alone = st_median(p->alone[i][c], TURNS), beside = st_median(p->beside[i][c], TURNS);
            double slowdown = sane(alone > 0 && beside > 0 ? beside / alone : 1);
            sum += slowdown;
            for (uint32_t b = 0; b < p->s->n_chunks; b++) {
                int rc = st_cost_set_slowdown(p->costs, x, c, own, y, b, other, slowdown, err);
                if (rc) return rc;
            }
        }
        *st_cost_unit_slowdown(p->costs, x, own, y, other) = sum / p->s->n_chunks;
    }
    return STRETTO_OK;
}

static int measure_works(pair_work *p, enum st_work first, enum st_work second, stretto_error *err) {
    p->lane[0].work = first;
    p->lane[1].work = second;
    for (unsigned i = 0; i < 2; i++) {
        int rc = prepare(&p->lane[i], err);
        if (rc) return rc;
    }
    for (unsigned turn = 0; turn < TURNS; turn++) {
        cli_progress(p->s->cx, "measuring %s beside %s: %s and %s", p->costs->units[p->unit[0]].name,
                     p->costs->units[p->unit[1]].name, st_work_names[first], st_work_names[second]);
        if (cli_stopped(p->s->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted while measuring");
        int rc = one_turn(p, turn, err);
        if (rc) return rc;
    }
    return note(p, err);
}

/* ---- the way from one to the other ---- */

/* From the end of a chunk on one lane to the start of the next on the other, in steps of one token. */
static int measure_transfer(pair_work *p, unsigned from, stretto_error *err) {
    session *s = p->s;
    if (s->n_chunks < 2) return STRETTO_OK;
    st_unit *units[ST_MAX_CHUNKS];
    uint32_t cut = s->n_chunks / 2;
    for (uint32_t c = 0; c < s->n_chunks; c++) units[c] = s->lanes.units[p->unit[c < cut ? from : 1 - from]];
    st_chain *chain;
    double gaps[15];
    unsigned n = 0;
    int32_t id = 0;
    int rc = plan_open_chain(s, 32, units, &chain, err);
    for (unsigned i = 0; i <= sizeof gaps / sizeof *gaps && !rc; i++) {
        uint64_t start, end, next, last;
        rc = st_chain_forward(chain, &id, 1, ST_WANT_LAST, NULL, NULL, err);
        if (rc || i == 0) continue;
        st_chain_times(chain, cut - 1, &start, &end);
        st_chain_times(chain, cut, &next, &last);
        gaps[n++] = (double)next - (double)end;
    }
    st_chain_close(chain);
    if (rc) return rc;
    double gap = st_median(gaps, n) - p->costs->units[p->unit[1 - from]].dispatch_ns;
    p->costs->transfers[(size_t)p->unit[from] * p->costs->n_units + p->unit[1 - from]].fixed_ns = gap > 0 ? gap : 0;
    for (unsigned i = 0; i < 2; i++) st_unit_quiet(s->lanes.units[p->unit[i]]);
    return STRETTO_OK;
}

static int measure_pair(st_costs *costs, session *s, uint32_t depth, uint32_t x, uint32_t y, stretto_error *err) {
    pair_work *p = calloc(1, sizeof *p);
    if (!p) return st_fail_memory(err, "two lanes' measurement", sizeof *p);
    *p = (pair_work){.s = s, .costs = costs, .unit = {x, y}};
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < 2 && !rc; i++) {
        st_unit *units[ST_MAX_CHUNKS];
        for (uint32_t c = 0; c < s->n_chunks; c++) units[c] = s->lanes.units[p->unit[i]];
        p->lane[i] = (worker){.s = s, .depth = depth};
        p->lane[i].times = calloc((size_t)s->n_chunks * STEPS_MOST, sizeof *p->lane[i].times);
        if (!p->lane[i].times) rc = st_fail_memory(err, "the samples", (uint64_t)s->n_chunks * STEPS_MOST * 8);
        if (!rc) rc = plan_open_chain(s, depth, units, &p->lane[i].chain, err);
    }
    if (!rc) rc = measure_works(p, ST_WORK_DECODE, ST_WORK_DECODE, err);
    if (!rc) rc = measure_works(p, ST_WORK_PREFILL, ST_WORK_PREFILL, err);
    if (!rc) rc = measure_works(p, ST_WORK_PREFILL, ST_WORK_DECODE, err);
    if (!rc) rc = measure_works(p, ST_WORK_DECODE, ST_WORK_PREFILL, err);
    for (unsigned i = 0; i < 2 && !rc; i++) rc = measure_transfer(p, i, err);
    for (unsigned i = 0; i < 2; i++) {
        st_chain_close(p->lane[i].chain);
        free(p->lane[i].times);
    }
    free(p);
    return rc;
}

int plan_measure_beside(st_costs *costs, session *s, const plan_measure_options *o, stretto_error *err) {
    for (uint32_t x = 0; x < costs->n_units; x++) {
        for (uint32_t y = x + 1; y < costs->n_units; y++) {
            if (st_costs_share_core(costs, x, y)) continue;
            int rc = measure_pair(costs, s, o->depth, x, y, err);
            if (rc) return rc;
        }
    }
    return STRETTO_OK;
}
