/* SPDX-License-Identifier: MIT
 * Thousands of random steps over three lanes and five queues, with random dependencies across them. Steps read what
 * their dependencies wrote in plain memory, so the thread sanitizer sees any order that is not kept. */
#include "base/error.h"
#include "base/rng.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/lanes.h"

enum { QUEUES = 5, STEPS = 4000, DEPS = 4 };

typedef struct node {
    st_step step;
    st_event done;
    const struct node *deps[DEPS];
    unsigned n_deps;
    bool fails;        /* by itself */
    bool expect_fails; /* or because of a dependency */
    uint64_t value, expect;
    unsigned runs;
    unsigned *queue_turn; /* steps of one queue that were run, in order; not atomic on purpose */
    unsigned turn;
} node;

typedef struct field {
    lanes_host fake;
    st_unit *units[3];
    st_queue *queues[QUEUES];
    unsigned turns[QUEUES], planned[QUEUES];
    node nodes[STEPS];
} field;

static uint64_t mix(uint64_t seed, const node *n, bool expected) {
    for (unsigned i = 0; i < n->n_deps; i++)
        seed = seed * 0x9e3779b97f4a7c15u + (expected ? n->deps[i]->expect : n->deps[i]->value);
    return seed + 1;
}

static int node_run(void *arg, const st_worker *worker, stretto_error *err) {
    node *n = arg;
    st_worker_sync(worker);
    if (worker->id != 0) return 0;
    n->runs++;
    n->turn = (*n->queue_turn)++;
    n->value = mix((uint64_t)(uintptr_t)n, n, false);
    return n->fails ? st_fail(err, STRETTO_E_STOPPED, "node") : 0;
}

static void field_open(field *f) {
    memset(f, 0, sizeof *f);
    lanes_host_init(&f->fake, 4);
    f->units[0] = lanes_open(&f->fake, 0, 1, 5000);
    f->units[1] = lanes_open(&f->fake, 1, 2, 1000);
    f->units[2] = lanes_open(&f->fake, 3, 1, 50000);
    for (int q = 0; q < QUEUES; q++) f->queues[q] = lanes_queue(f->units[q % 3]);
    for (int i = 0; i < STEPS; i++) st_event_init(&f->nodes[i].done);
}

static void field_close(field *f) {
    for (int q = 0; q < QUEUES; q++) st_queue_close(f->queues[q]);
    for (int u = 0; u < 3; u++) st_unit_close(f->units[u]);
}

/* Plans node i: what it depends on, among the `span` nodes before it, and what must come out. */
static void node_plan(field *f, st_rng *rng, unsigned i, unsigned queue, unsigned span) {
    node *n = &f->nodes[i];
    n->step = (st_step){.name = "node", .run = node_run, .arg = n};
    n->n_deps = i == 0 ? 0 : (unsigned)st_rng_below(rng, DEPS + 1);
    n->fails = n->expect_fails = st_rng_below(rng, 40) == 0;
    n->queue_turn = &f->turns[queue];
    bool skipped = false;
    for (unsigned d = 0; d < n->n_deps; d++) {
        n->deps[d] = &f->nodes[i - 1 - st_rng_below(rng, i < span ? i : span)];
        skipped |= n->deps[d]->expect_fails;
    }
    n->expect_fails |= skipped;
    n->expect = skipped ? 0 : mix((uint64_t)(uintptr_t)n, n, true);
    n->turn = skipped ? 0 : f->planned[queue]++;
}

static int node_submit(field *f, node *n, unsigned queue, stretto_error *err) {
    st_event *deps[DEPS];
    for (unsigned d = 0; d < n->n_deps; d++) deps[d] = (st_event *)&n->deps[d]->done;
    return st_submit(f->queues[queue], &n->step, deps, n->n_deps, &n->done, err);
}

static void node_check(node *n, unsigned turn) {
    stretto_error err = {0};
    assert_int_equal(st_event_wait(&n->done, &err), n->expect_fails ? STRETTO_E_STOPPED : 0);
    if (n->expect_fails) assert_string_equal(err.text, "node");
    assert_int_equal(n->runs, n->expect != 0);
    assert_true(n->value == n->expect);
    if (n->runs) assert_int_equal(n->turn, turn);
}

static void random_graph(void **state) {
    (void)state;
    static field f;
    st_rng rng;
    st_rng_seed(&rng, 11);
    field_open(&f);
    static unsigned turns[STEPS];
    stretto_error err;
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned queue = (unsigned)st_rng_below(&rng, QUEUES);
        node_plan(&f, &rng, i, queue, 30);
        turns[i] = f.nodes[i].turn;
        if (i >= 200) node_check(&f.nodes[i - 200], turns[i - 200]); /* keeps the queues from filling up */
        assert_int_equal(node_submit(&f, &f.nodes[i], queue, &err), 0);
        if (st_rng_below(&rng, 500) == 0) st_unit_quiet(f.units[st_rng_below(&rng, 3)]);
    }
    for (unsigned i = 0; i < STEPS; i++) node_check(&f.nodes[i], turns[i]);
    field_close(&f);
}

/* Every queue is fed by a thread of its own; who depends on another's node waits until that was submitted. */
typedef struct feeder {
    field *f;
    unsigned queue;
    atomic_uint *submitted; /* [STEPS] */
    int code;
} feeder;

static void *feed(void *arg) {
    feeder *me = arg;
    stretto_error err;
    for (unsigned i = me->queue; i < STEPS && me->code == 0; i += QUEUES) {
        node *n = &me->f->nodes[i];
        for (unsigned d = 0; d < n->n_deps; d++)
            while (!atomic_load(&me->submitted[n->deps[d] - me->f->nodes])) sched_yield();
        if (i >= 200 * QUEUES) st_event_wait(&me->f->nodes[i - 200 * QUEUES].done, NULL);
        me->code = node_submit(me->f, n, me->queue, &err);
        atomic_store(&me->submitted[i], 1);
    }
    return NULL;
}

static void fed_by_many_threads(void **state) {
    (void)state;
    static field f;
    static atomic_uint submitted[STEPS];
    static unsigned turns[STEPS];
    st_rng rng;
    st_rng_seed(&rng, 12);
    field_open(&f);
    for (unsigned i = 0; i < STEPS; i++) {
        node_plan(&f, &rng, i, i % QUEUES, 40);
        turns[i] = f.nodes[i].turn;
    }
    pthread_t threads[QUEUES];
    feeder feeders[QUEUES];
    for (unsigned q = 0; q < QUEUES; q++) {
        feeders[q] = (feeder){.f = &f, .queue = q, .submitted = submitted};
        assert_int_equal(pthread_create(&threads[q], NULL, feed, &feeders[q]), 0);
    }
    for (unsigned q = 0; q < QUEUES; q++) {
        pthread_join(threads[q], NULL);
        assert_int_equal(feeders[q].code, 0);
    }
    for (unsigned i = 0; i < STEPS; i++) node_check(&f.nodes[i], turns[i]);
    field_close(&f);
}

/* One event for all: waited for and reused at once, while the other lane still has to be told. */
static void events_reused_at_once(void **state) {
    (void)state;
    static field f;
    field_open(&f);
    stretto_error err;
    enum { RING = 3 };
    for (unsigned i = 0; i < STEPS; i++) {
        node *n = &f.nodes[i];
        n->step = (st_step){.name = "node", .run = node_run, .arg = n};
        n->queue_turn = &f.turns[i % 2];
        st_event *done = &f.nodes[i % RING].done, *dep = &f.nodes[(i + RING - 1) % RING].done;
        if (i >= RING) assert_int_equal(st_event_wait(done, &err), 0);
        assert_int_equal(st_submit(f.queues[i % 2], &n->step, &dep, i > 0, done, &err), 0);
    }
    field_close(&f);
    for (unsigned i = 0; i < STEPS; i++) {
        assert_int_equal(f.nodes[i].runs, 1);
        assert_int_equal(f.nodes[i].turn, i / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graph),
        cmocka_unit_test(fed_by_many_threads),
        cmocka_unit_test(events_reused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
