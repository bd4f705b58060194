/* SPDX-License-Identifier: MIT
 * How submissions get into a lane and how they learn that they can start. */
#include "base/error.h"
#include "base/mem.h"
#include "device/lane.h"

static void record_init(st_lane_record *record, st_lane_queue *queue) {
    record->queue = queue;
    for (int i = 0; i < ST_UNIT_MAX_DEPS; i++) record->deps[i].record = record;
}

int st_lane_queue_open(st_unit *unit, st_queue **out, stretto_error *err) {
    st_lane *lane = (st_lane *)unit;
    st_lane_queue *queue = st_alloc(1, sizeof *queue);
    if (!queue) return st_fail_memory(err, "a lane's queue", sizeof *queue);
    queue->queue.unit = unit;
    for (unsigned i = 0; i < ST_LANE_MAX_PENDING; i++) record_init(&queue->records[i], queue);
    pthread_mutex_lock(&lane->lock);
    queue->next = lane->queues;
    lane->queues = queue;
    pthread_mutex_unlock(&lane->lock);
    *out = &queue->queue;
    return STRETTO_OK;
}

void st_lane_queue_close(st_queue *base) {
    st_lane_queue *queue = (st_lane_queue *)base;
    st_lane *lane = (st_lane *)base->unit;
    pthread_mutex_lock(&lane->lock);
    lane->closers++;
    while (queue->finished != atomic_load_explicit(&queue->tail, memory_order_relaxed))
        pthread_cond_wait(&lane->completed, &lane->lock);
    lane->closers--;
    st_lane_queue **link = &lane->queues;
    while (*link != queue) link = &(*link)->next;
    *link = queue->next;
    pthread_mutex_unlock(&lane->lock);
    st_free(queue);
}

static void dep_failed(st_lane_record *record, int code, const stretto_error *error) {
    int none = 0;
    if (atomic_compare_exchange_strong(&record->failure, &none, code)) record->done->error = *error;
}

/* A dependency is done. Once `unmet` is down the record may run and be used anew, and once `callers` is down the lane
 * may be gone: nothing of either is touched after that. */
static void dep_done(st_listener *listener, int code, const stretto_error *error) {
    st_lane_record *record = ((st_lane_dep *)listener)->record;
    st_lane *lane = (st_lane *)record->queue->queue.unit;
    if (code != STRETTO_OK) dep_failed(record, code, error);
    if (atomic_fetch_sub_explicit(&record->unmet, 1, memory_order_acq_rel) == 1) st_bell_ring(&lane->bell);
    atomic_fetch_sub_explicit(&lane->callers, 1, memory_order_release);
}

static void record_listen(st_lane *lane, st_lane_record *record, st_lane_dep *dep, st_event *event) {
    dep->listener.fn = dep_done;
    atomic_fetch_add_explicit(&lane->callers, 1, memory_order_relaxed);
    if (st_event_listen(event, &dep->listener)) return;
    atomic_fetch_sub_explicit(&lane->callers, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&record->unmet, 1, memory_order_relaxed);
    if (event->code != STRETTO_OK) dep_failed(record, event->code, &event->error);
}

int st_lane_submit(st_queue *base, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                   stretto_error *err) {
    st_lane_queue *queue = (st_lane_queue *)base;
    st_lane *lane = (st_lane *)base->unit;
    unsigned tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    if (atomic_load_explicit(&lane->stop, memory_order_relaxed))
        return st_fail(err, STRETTO_E_UNIT, "unit %s is being closed: step %s was not taken", lane->info.name,
                       step->name);
    if (tail - atomic_load_explicit(&queue->head, memory_order_acquire) == ST_LANE_MAX_PENDING)
        return st_fail(err, STRETTO_E_UNIT, "queue of unit %s is full: %u steps are pending, step %s was not taken",
                       lane->info.name, ST_LANE_MAX_PENDING, step->name);
    st_lane_record *record = &queue->records[tail % ST_LANE_MAX_PENDING];
    record->step = step;
    record->done = done;
    record->ticket = atomic_fetch_add_explicit(&lane->tickets, 1, memory_order_relaxed);
    atomic_store_explicit(&record->unmet, (unsigned)n_deps, memory_order_relaxed);
    atomic_store_explicit(&record->failure, 0, memory_order_relaxed);
    st_event_begin(done, &lane->unit);
    for (size_t i = 0; i < n_deps; i++) record_listen(lane, record, &record->deps[i], deps[i]);
    atomic_store_explicit(&queue->tail, tail + 1, memory_order_release);
    st_bell_ring(&lane->bell);
    return STRETTO_OK;
}
