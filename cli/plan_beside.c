/* SPDX-License-Identifier: MIT */
#include "plan_beside.h"

#include "base/error.h"
#include "base/min.h"
#include "base/thread.h"
#include "device/chain.h"

#include <limits.h>
#include <stdlib.h>
#include <time.h>

#define MICRO_BATCH 32
#define STEPS_LEAST 2u
#define LOOK_NS 1000000u
#define ALONE_NS 60000000ull /* of each turn and kind of work */
#define BESIDE_NS 120000000ull
#define WAYS 8
#define SHARES 3 /* of the combinations, one a turn */
#define SLOWDOWN_MOST 100.0

/* A lane that does one kind of work until it is told to stop. */
typedef struct worker {
    plan_rig *rig;
    plan_texts *texts;
    enum st_work work;
    uint32_t tokens;
    const atomic_bool *stop;
    atomic_uint *begun; /* lanes that are past their first step */
    unsigned lanes;     /* that go */
    atomic_uint n;      /* steps that were timed; UINT_MAX: it has failed */
    plan_samples times; /* of all chunks */
    int rc;
    stretto_error err;
} worker;

static int step(worker *w, double *ns) {
    int rc = w->work == ST_WORK_PREFILL ? plan_rig_read(w->rig, w->texts, w->tokens, &w->err)
                                        : plan_rig_decode(w->rig, w->texts, w->tokens, true, &w->err);
    *ns = 0;
    for (uint32_t c = 0; c < w->rig->s->n_chunks && !rc; c++) *ns += plan_rig_ns(w->rig, c);
    return rc;
}

static int stopped(const worker *w, stretto_error *err) {
    return cli_stopped(w->rig->s->cx) ? st_fail(err, STRETTO_E_STOPPED, "interrupted while measuring") : STRETTO_OK;
}

/* The first step finds cold caches and sleeping workers, and so may those that it takes until the other lane is past
 * its own; during the last one the other lane may have come to its end. */
static void *work(void *arg) {
    worker *w = arg;
    double ns;
    unsigned timed = 0;
    for (bool first = true; !w->rc; first = false) {
        const bool counts = atomic_load(w->begun) == w->lanes;
        w->rc = step(w, &ns);
        if (first) atomic_fetch_add(w->begun, 1);
        if (atomic_load(w->stop) || stopped(w, NULL)) break;
        if (!w->rc && counts) {
            w->rc = plan_samples_add(&w->times, ns, &w->err);
            timed++;
        }
        atomic_store(&w->n, w->rc ? UINT_MAX : timed);
    }
    return NULL;
}

static void nap(uint64_t ns) {
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    nanosleep(&time, NULL);
}

/* Until each has been timed often enough, all the while beside the other, or has failed; or until all is to stop. */
static void wait_for_all(worker *workers, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        while (atomic_load(&workers[i].n) < STEPS_LEAST && !stopped(&workers[i], NULL)) nap(LOOK_NS);
}

/* Lets one or both go for so long. STRETTO_E_STOPPED on request, when they have ended the step that they are in. */
static int go(worker *workers, unsigned n, uint64_t ns, stretto_error *err) {
    pthread_t threads[2];
    atomic_bool stop;
    atomic_uint begun;
    unsigned started = 0;
    int rc = stopped(&workers[0], err);
    atomic_init(&stop, false);
    atomic_init(&begun, 0);
    for (; started < n && !rc; started += !rc) {
        workers[started].stop = &stop;
        workers[started].begun = &begun;
        workers[started].lanes = n;
        rc = st_thread_start(&threads[started], work, &workers[started], "plan", err);
    }
    if (!rc) {
        nap(ns);
        wait_for_all(workers, n);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        plan_rig_quiet(workers[i].rig); /* its workers' waiting is no part of what comes */
        if (!rc && workers[i].rc) rc = st_fail(err, workers[i].rc, "%s", workers[i].err.text);
    }
    return rc ? rc : stopped(&workers[0], err);
}

static worker worker_of(const plan_beside *b, unsigned side, enum st_work work) {
    uint32_t share = (b->streams + 1) / 2, most = st_min_u32(b->rows_most, PLAN_TEXTS_MAX);
    uint32_t prompt = st_min_u32(plan_texts_prompt(b->texts[side]), b->tokens_most),
             rows = st_min_u32(share < 2 ? 2 : share, most);
    uint32_t tokens[ST_WORKS] = {
        [ST_WORK_DECODE] = 1, [ST_WORK_PREFILL] = st_min_u32(prompt, MICRO_BATCH), [ST_WORK_BATCH] = rows};
    return (worker){.rig = b->rig[side], .texts = b->texts[side], .work = work, .tokens = tokens[work]};
}

/* Of each side's work, alone. */
static int measure_alone(const plan_beside *b, double alone[2][ST_WORKS], stretto_error *err) {
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < 2 * ST_WORKS && !rc; i++) {
        worker w = worker_of(b, i % 2, (enum st_work)(i / 2));
        rc = go(&w, 1, ALONE_NS, err);
        alone[i % 2][i / 2] = plan_samples_mean(&w.times);
        plan_samples_free(&w.times);
    }
    return rc;
}

static int measure_both(plan_beside *b, enum st_work first, enum st_work second, double alone[2][ST_WORKS],
                        stretto_error *err) {
    enum st_work works[2] = {first, second};
    worker both[2] = {worker_of(b, 0, first), worker_of(b, 1, second)};
    int rc = go(both, 2, BESIDE_NS, err);
    for (unsigned i = 0; i < 2; i++) {
        enum st_work own = works[i], other = works[1 - i];
        if (!rc) rc = plan_samples_add(&b->together[i][own][other], plan_samples_mean(&both[i].times), err);
        if (!rc) rc = plan_samples_add(&b->alone[i][own][other], alone[i][own], err);
        plan_samples_free(&both[i].times);
    }
    return rc;
}

/* ---- the way from one to the other ---- */

static int measure_way(plan_beside *b, unsigned from, stretto_error *err) {
    session *s = b->rig[0]->s;
    if (s->n_chunks < 2) return STRETTO_OK;
    st_unit *units[ST_MAX_CHUNKS];
    uint32_t cut = s->n_chunks / 2;
    for (uint32_t c = 0; c < s->n_chunks; c++) units[c] = b->rig[c < cut ? from : 1 - from]->unit;
    st_chain_options options = {.model = s->model,
                                .spans = s->spans,
                                .n_chunks = s->n_chunks,
                                .units = units,
                                .kv_type = session_kv_type(s),
                                .n_ctx = WAYS + 1,
                                .stop = s->cx->stop};
    st_chain *chain;
    int32_t id = 0;
    int rc = st_chain_open(&chain, &options, err);
    for (unsigned i = 0; i <= WAYS && !rc; i++) {
        uint64_t start, end, next, last;
        rc = st_chain_forward(chain, &id, 1, ST_WANT_LAST, NULL, NULL, err);
        if (rc || i == 0) continue;
        st_chain_times(chain, cut - 1, &start, &end);
        st_chain_times(chain, cut, &next, &last);
        rc = plan_samples_add(&b->way[from], (double)next - (double)end, err);
    }
    st_chain_close(chain);
    for (unsigned i = 0; i < 2; i++) plan_rig_quiet(b->rig[i]);
    return rc;
}

/* ---- a turn ---- */

int plan_beside_turn(plan_beside *b, stretto_error *err) {
    const session *s = b->rig[0]->s;
    double alone[2][ST_WORKS];
    cli_progress(s->cx, "measuring %s beside %s: turn %u of %d at least", s->lanes.names[b->unit[0]],
                 s->lanes.names[b->unit[1]], b->turns + 1, SHARES);
    int rc = measure_alone(b, alone, err);
    for (unsigned i = b->turns % SHARES; i < ST_WORKS * ST_WORKS && !rc; i += SHARES)
        rc = measure_both(b, (enum st_work)(i / ST_WORKS), (enum st_work)(i % ST_WORKS), alone, err);
    for (unsigned i = 0; i < 2 && b->turns % SHARES == 0 && !rc; i++) rc = measure_way(b, i, err);
    b->turns++;
    return rc;
}

/* ---- the table ---- */

/* All turns beside over all turns alone. A mean of the turns' quotients would be too large: whatever slowed the
 * denominator for a moment makes one of them small, but what sped it up makes one larger by more. What is below 1 is
 * noise: no lane speeds another up. And all chunks together, since it is noise, too, that most of their differences
 * are. */
static double slowdown_of(const plan_samples *together, const plan_samples *alone) {
    double before = plan_samples_mean(alone), slowdown = before > 0 ? plan_samples_mean(together) / before : 1;
    return slowdown < 1 ? 1 : slowdown > SLOWDOWN_MOST ? SLOWDOWN_MOST : slowdown;
}

void plan_beside_note(const plan_beside *b, st_costs *costs) {
    for (unsigned side = 0; side < 2; side++) {
        uint32_t x = b->unit[side], y = b->unit[1 - side];
        for (unsigned i = 0; i < ST_WORKS * ST_WORKS; i++) {
            enum st_work own = (enum st_work)(i / ST_WORKS), other = (enum st_work)(i % ST_WORKS);
            *st_cost_unit_slowdown(costs, x, own, y, other) =
                slowdown_of(&b->together[side][own][other], &b->alone[side][own][other]);
        }
        double way = plan_samples_mean(&b->way[side]) - costs->units[y].dispatch_ns;
        costs->transfers[(size_t)x * costs->n_units + y].fixed_ns = way > 0 ? way : 0;
    }
}

void plan_beside_free(plan_beside *b) {
    for (unsigned side = 0; side < 2; side++) {
        for (unsigned i = 0; i < ST_WORKS * ST_WORKS; i++) {
            plan_samples_free(&b->together[side][i / ST_WORKS][i % ST_WORKS]);
            plan_samples_free(&b->alone[side][i / ST_WORKS][i % ST_WORKS]);
        }
        plan_samples_free(&b->way[side]);
    }
}
