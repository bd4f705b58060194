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
    st_barrier barrier;
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
    pthread_mutex_lock(&starter->lock);
    while (atomic_load(&starter->state) != STARTER_LEAVE) {
        if (atomic_load(&starter->state) == STARTER_IDLE) {
            pthread_cond_wait(&starter->changed, &starter->lock);
            continue;
        }
        const st_clock *clock = starter->clock;
        st_start_side *side = starter->side;
        pthread_mutex_unlock(&starter->lock);
        starter_meet(starter, 1);
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

int st_starter_create(st_starter **out, stretto_error *err) {
    *out = NULL;
    st_starter *starter = st_alloc(1, sizeof *starter);
    if (!starter) return st_fail_memory(err, "the second submitter", sizeof *starter);
    pthread_mutex_init(&starter->lock, NULL);
    pthread_cond_init(&starter->changed, NULL);
    st_barrier_init(&starter->barrier, 2);
    int code = st_thread_start(&starter->thread, starter_main, starter, "submitter", err);
    if (code != STRETTO_OK) {
        st_free(starter);
        return code;
    }
    *out = starter;
    return STRETTO_OK;
}

void st_starter_destroy(st_starter *starter) {
    if (!starter) return;
    starter_set(starter, STARTER_LEAVE);
    pthread_join(starter->thread, NULL);
    pthread_cond_destroy(&starter->changed);
    pthread_mutex_destroy(&starter->lock);
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

void st_start_both(st_starter *starter, const st_clock *clock, st_start_side sides[2]) {
    if (!starter) {
        start_in_turn(clock, sides);
        return;
    }
    starter->clock = clock; /* the other thread is idle: it reads these after it was asked */
    starter->side = &sides[1];
    starter_set(starter, STARTER_ASKED);
    starter_meet(starter, 0);
    side_begin(&sides[0], clock);
    side_end(&sides[0]);
    starter_await(starter);
}
