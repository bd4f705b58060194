/* SPDX-License-Identifier: MIT
 * The leader of a lane. */
#include "device/lane.h"

#include "base/futex.h"
#include "base/spin.h"

#include <time.h>

/* A leader that has steps which wait for another unit spins this many times longer: the other is at work, and being
 * woken takes longer than many a step. */
#define BLOCKED_SPINS 16u

/* Takes note of the step that just ended, then finds what to run next: of the queues' first steps, the one submitted
 * first among those whose dependencies are done. *blocked: there are steps, though none may be ready. */
static st_lane_record *take_next(st_lane *lane, st_lane_queue *ended, bool *blocked) {
    st_lane_record *next = NULL;
    *blocked = false;
    pthread_mutex_lock(&lane->lock);
    if (ended) {
        ended->finished++;
        if (lane->closers > 0) pthread_cond_broadcast(&lane->completed);
    }
    for (st_lane_queue *queue = lane->queues; queue; queue = queue->next) {
        unsigned head = atomic_load_explicit(&queue->head, memory_order_relaxed);
        if (head == atomic_load_explicit(&queue->tail, memory_order_acquire)) continue;
        *blocked = true;
        st_lane_record *record = &queue->records[head % ST_LANE_MAX_PENDING];
        if (atomic_load_explicit(&record->unmet, memory_order_acquire) > 0) continue;
        if (!next || record->ticket < next->ticket) next = record;
    }
    pthread_mutex_unlock(&lane->lock);
    return next;
}

typedef struct job {
    const st_step *step;
    stretto_error *err;
    int code;
} job;

static void job_run(void *arg, const st_worker *worker) {
    job *j = arg;
    int code = j->step->run(j->step->arg, worker, worker->id == 0 ? j->err : NULL);
    if (worker->id == 0) j->code = code;
}

/* Runs the step, unless a dependency failed, and completes its event. The place in the ring is free again before the
 * event is done, so that who waited for a full queue's event can submit. */
static void record_run(st_lane *lane, st_lane_record *record) {
    st_lane_queue *queue = record->queue;
    const st_step *step = record->step;
    st_event *done = record->done;
    stretto_error error = {0};
    job j = {.step = step, .err = &error, .code = atomic_load_explicit(&record->failure, memory_order_relaxed)};
    bool run = j.code == STRETTO_OK;
    done->start_ns = st_clock_now(&lane->unit.clock);
    if (run) st_pool_run(lane->pool, job_run, &j);
    done->end_ns = run ? st_clock_now(&lane->unit.clock) : done->start_ns;
    atomic_fetch_add_explicit(&queue->head, 1, memory_order_release);
    st_event_complete(done, j.code, run ? &error : &done->error, step->name);
}

/* Spins until `signal` is another than `seen`; false when it is time to sleep. */
static bool leader_spin(st_lane *lane, unsigned seen, uint64_t spin_ns) {
    uint64_t since = st_now_ns();
    for (unsigned turn = 1; atomic_load_explicit(&lane->signal, memory_order_acquire) == seen; turn++) {
        if (atomic_load_explicit(&lane->hush, memory_order_relaxed) > 0) return false;
        if (turn % 32 == 0 && st_now_ns() - since >= spin_ns) return false;
        st_spin_turn(turn, ST_SPIN_IDLE);
    }
    return true;
}

/* The pool spins for as long as its leader does, and is asleep before it. */
static void leader_sleep(st_lane *lane, unsigned seen) {
    st_pool_quiet(lane->pool);
    atomic_store(&lane->slept_on, seen);
    atomic_store(&lane->asleep, 1);
    while (atomic_load(&lane->signal) == seen) st_futex_wait(&lane->signal, seen);
    atomic_store(&lane->asleep, 0);
}

/* Asleep, and nobody has called it since. */
static bool leader_rests(st_lane *lane) {
    return atomic_load(&lane->asleep) && atomic_load(&lane->signal) == atomic_load(&lane->slept_on);
}

void *st_lane_leader(void *arg) {
    st_lane *lane = arg;
    st_lane_queue *ended = NULL;
    for (;;) {
        bool blocked;
        unsigned seen = atomic_load_explicit(&lane->signal, memory_order_acquire);
        st_lane_record *record = take_next(lane, ended, &blocked);
        ended = record ? record->queue : NULL;
        if (record)
            record_run(lane, record);
        else if (!blocked && atomic_load_explicit(&lane->stop, memory_order_acquire))
            return NULL;
        else if (!leader_spin(lane, seen, blocked ? BLOCKED_SPINS * lane->spin_ns : lane->spin_ns))
            leader_sleep(lane, seen);
    }
}

/* A leader that runs a step finds the wish when it is done. Polls, since hushing is rare and short: it would cost every
 * submission more to be told. */
void st_lane_quiet(st_unit *unit) {
    st_lane *lane = (st_lane *)unit;
    atomic_fetch_add(&lane->hush, 1);
    for (unsigned turn = 0; !leader_rests(lane); turn++) {
        const struct timespec nap = {.tv_nsec = 50000};
        if (turn < 2 * ST_SPIN_IDLE)
            st_spin_turn(turn, ST_SPIN_IDLE);
        else
            nanosleep(&nap, NULL);
    }
    atomic_fetch_sub(&lane->hush, 1);
}
