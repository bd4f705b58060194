/* SPDX-License-Identifier: MIT */
#include "probe/start.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/spin.h"
#include "base/thread.h"

enum starter_state { STARTER_IDLE, STARTER_ASKED, STARTER_LEAVE };

struct st_starter {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_uint state; /* enum starter_state; changed under the lock, as are the two below */
    const st_clock *clock;
    st_start_side *side;
    bool alone; /* nobody to meet */
    st_barrier barrier;
    st_unit *unit; /* where the other thread submits to, NULL: it is not bound */
    unsigned worker;
    st_affinity before; /* of who made the starter */
};

static void side_begin(st_start_side *side, const st_clock *clock) {
    side->begin_ns = st_clock_now(clock);
    side->code = st_submit(side->queue, side->step, NULL, 0, side->done, &side->error);
}

static void side_end(st_start_side *side) {
    if (side->code == STRETTO_OK) side->code = st_event_wait(side->done, &side->error);
}

static void starter_meet(st_starter *starter, unsigned id) {
    st_worker worker = {.id = id, .count = 2, .barrier = &starter->barrier};
    st_worker_sync(&worker);
}

static void *starter_main(void *arg) {
    st_starter *starter = arg;
    if (starter->unit) st_unit_bind(starter->unit, starter->worker);
    pthread_mutex_lock(&starter->lock);
    while (atomic_load(&starter->state) != STARTER_LEAVE) {
        if (atomic_load(&starter->state) == STARTER_IDLE) {
            pthread_cond_wait(&starter->changed, &starter->lock);
            continue;
        }
        const st_clock *clock = starter->clock;
        st_start_side *side = starter->side;
        bool alone = starter->alone;
        pthread_mutex_unlock(&starter->lock);
        if (!alone) starter_meet(starter, 1);
        side_begin(side, clock);
        side_end(side);
        pthread_mutex_lock(&starter->lock);
        atomic_store(&starter->state, STARTER_IDLE);
        pthread_cond_signal(&starter->changed);
    }
    pthread_mutex_unlock(&starter->lock);
    return NULL;
}

static void starter_set(st_starter *starter, enum starter_state state) {
    pthread_mutex_lock(&starter->lock);
    atomic_store(&starter->state, state);
    pthread_cond_signal(&starter->changed);
    pthread_mutex_unlock(&starter->lock);
}

int st_starter_create(st_starter **out, st_unit *const units[2], stretto_error *err) {
    *out = NULL;
    st_starter *starter = st_alloc(1, sizeof *starter);
    if (!starter) return st_fail_memory(err, "the second submitter", sizeof *starter);
    pthread_mutex_init(&starter->lock, NULL);
    pthread_cond_init(&starter->changed, NULL);
    st_barrier_init(&starter->barrier, 2);
    starter->unit = units[1];
    starter->worker = units[0] == units[1] ? 1 : 0;
    st_affinity_get(&starter->before);
    int code = st_thread_start(&starter->thread, starter_main, starter, "submitter", err);
    if (code != STRETTO_OK) {
        st_free(starter);
        return code;
    }
    if (units[0]) st_unit_bind(units[0], 0); /* now, since a thread starts out bound like its maker */
    *out = starter;
    return STRETTO_OK;
}

void st_starter_destroy(st_starter *starter) {
    if (!starter) return;
    starter_set(starter, STARTER_LEAVE);
    pthread_join(starter->thread, NULL);
    pthread_cond_destroy(&starter->changed);
    pthread_mutex_destroy(&starter->lock);
    st_affinity_set(&starter->before);
    st_free(starter);
}

static void start_in_turn(const st_clock *clock, st_start_side sides[2]) {
    for (unsigned i = 0; i < 2; i++) side_begin(&sides[i], clock);
    for (unsigned i = 0; i < 2; i++) side_end(&sides[i]);
}

/* The other thread is done at about the same time: a short spin saves being woken. */
static void starter_await(st_starter *starter) {
    for (unsigned turn = 0; turn < ST_SPIN_IDLE; turn++) {
        if (atomic_load(&starter->state) == STARTER_IDLE) return;
        st_spin_pause();
    }
    pthread_mutex_lock(&starter->lock);
    while (atomic_load(&starter->state) != STARTER_IDLE) pthread_cond_wait(&starter->changed, &starter->lock);
    pthread_mutex_unlock(&starter->lock);
}

/* The other thread is idle: it reads these after it was asked. */
static void starter_ask(st_starter *starter, const st_clock *clock, st_start_side *side, bool alone) {
    starter->clock = clock;
    starter->side = side;
    starter->alone = alone;
    starter_set(starter, STARTER_ASKED);
}

void st_start_both(st_starter *starter, const st_clock *clock, st_start_side sides[2]) {
    if (!starter) {
        start_in_turn(clock, sides);
        return;
    }
    starter_ask(starter, clock, &sides[1], false);
    starter_meet(starter, 0);
    side_begin(&sides[0], clock);
    side_end(&sides[0]);
    starter_await(starter);
}

void st_start_second(st_starter *starter, const st_clock *clock, st_start_side *side) {
    starter_ask(starter, clock, side, true);
    starter_await(starter);
}
