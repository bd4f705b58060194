/* SPDX-License-Identifier: MIT */
#include "unit/event.h"

#include "base/error.h"
#include "base/futex.h"
#include "base/spin.h"

#include <string.h>

/* State while pending with somebody asleep on it, so that completing an event without one needs no system call. */
enum { EVENT_SLEPT_ON = ST_EVENT_DONE + 1 };

/* Turns that a waiter spins, about 2 microseconds: it may sit on a core that the step needs. */
#define WAIT_TURNS 64u

/* Listeners hang on an event as a stack; a completed one has this instead, and so takes no more. */
static const st_listener closed_mark;
#define CLOSED ((st_listener *)&closed_mark)

void st_event_init(st_event *event) {
    memset(event, 0, sizeof *event);
    atomic_init(&event->state, ST_EVENT_IDLE);
    atomic_init(&event->listeners, NULL);
}

void st_event_begin(st_event *event, st_unit *unit) {
    event->unit = unit;
    event->submit_ns = st_clock_now(&unit->clock);
    event->start_ns = event->end_ns = 0;
    event->code = STRETTO_OK;
    event->error.code = STRETTO_OK;
    event->error.text[0] = '\0';
    atomic_store_explicit(&event->listeners, NULL, memory_order_relaxed);
    atomic_store_explicit(&event->state, ST_EVENT_PENDING, memory_order_release);
}

void st_event_undo(st_event *event) {
    atomic_store_explicit(&event->state, ST_EVENT_IDLE, memory_order_release);
}

/* The code is one of ours, whatever a program's own step or unit returned. */
static void event_set_error(st_event *event, int code, const stretto_error *error, const char *name) {
    event->code = st_code_of(code);
    if (code == STRETTO_OK) return;
    if (!error || error->text[0] == '\0')
        st_fail(&event->error, code, "step %s failed with code %d and gave no reason", name ? name : "?", code);
    else if (error != &event->error)
        event->error = *error;
    event->error.code = event->code;
}

/* The owner may reuse or free the event as soon as it reads as done: that store is the last access. A listener's fn may
 * do the same with the listener. */
void st_event_complete(st_event *event, int code, const stretto_error *error, const char *name) {
    event_set_error(event, code, error, name);
    st_listener *listener = atomic_exchange_explicit(&event->listeners, CLOSED, memory_order_acq_rel);
    while (listener) {
        st_listener *next = listener->next;
        listener->fn(listener, event->code, &event->error);
        listener = next;
    }
    if (atomic_exchange_explicit(&event->state, ST_EVENT_DONE, memory_order_acq_rel) == EVENT_SLEPT_ON)
        st_futex_wake(&event->state);
}

bool st_event_listen(st_event *event, st_listener *listener) {
    st_listener *head = atomic_load_explicit(&event->listeners, memory_order_acquire);
    do {
        if (head == CLOSED) return false;
        listener->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&event->listeners, &head, listener, memory_order_acq_rel,
                                                    memory_order_acquire));
    return true;
}

bool st_event_done(const st_event *event) {
    return atomic_load_explicit(&event->state, memory_order_acquire) == ST_EVENT_DONE;
}

void st_event_block(st_event *event) {
    for (unsigned turn = 0; turn < WAIT_TURNS; turn++) {
        if (st_event_done(event)) return;
        st_spin_pause();
    }
    while (!st_event_done(event)) {
        unsigned state = ST_EVENT_PENDING;
        atomic_compare_exchange_strong(&event->state, &state, EVENT_SLEPT_ON);
        if (state != ST_EVENT_DONE) st_futex_wait(&event->state, EVENT_SLEPT_ON);
    }
}
