/* SPDX-License-Identifier: MIT
 * The leader of a lane. */
#include "device/lane.h"

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

/* Runs the step, unless a dependency failed, and completes its event. The place in the ring is free again before the
 * event is done, so that who waited for a full queue's event can submit. */
static void record_run(st_lane *lane, st_lane_record *record) {
    st_lane_queue *queue = record->queue;
    const st_step *step = record->step;
    st_event *done = record->done;
    stretto_error error = {0};
    int code = atomic_load_explicit(&record->failure, memory_order_relaxed);
    bool run = code == STRETTO_OK;
    done->start_ns = st_clock_now(&lane->unit.clock);
    if (run) code = st_step_run(step, lane->pool, &error);
    done->end_ns = run ? st_clock_now(&lane->unit.clock) : done->start_ns;
    atomic_fetch_add_explicit(&queue->head, 1, memory_order_release);
    st_event_complete(done, code, run ? &error : &done->error, step->name);
}

void *st_lane_leader(void *arg) {
    st_lane *lane = arg;
    st_lane_queue *ended = NULL;
    for (;;) {
        bool blocked;
        unsigned seen = st_bell_seen(&lane->bell);
        st_lane_record *record = take_next(lane, ended, &blocked);
        ended = record ? record->queue : NULL;
        if (record)
            record_run(lane, record);
        else if (!blocked && atomic_load_explicit(&lane->stop, memory_order_acquire))
            return NULL;
        else if (!st_bell_spin(&lane->bell, seen, blocked ? BLOCKED_SPINS * lane->spin_ns : lane->spin_ns))
            st_bell_sleep(&lane->bell, seen, lane->pool);
    }
}
