/* SPDX-License-Identifier: MIT
 * Events as the implementers of units see them: begin, complete, listen. Submitters use unit.h only. */
#ifndef ST_UNIT_EVENT_H
#define ST_UNIT_EVENT_H

#include "unit/unit.h"

/* A wish to hear of an event's completion. Memory of the listener, kept until fn was called. */
typedef struct st_listener st_listener;
struct st_listener {
    st_listener *next; /* while it hangs on an event */
    /* Called once, from the thread that completes the event: short, does not block. May give the listener's memory
     * away. */
    void (*fn)(st_listener *listener, int code, const stretto_error *error);
};

/* The event becomes pending on unit, submit_ns is stamped from the unit's clock; start_ns and end_ns are 0. */
void st_event_begin(st_event *event, st_unit *unit);

/* Makes an event idle whose submission was refused (st_submit does it for the unit); nobody may have listened yet. */
void st_event_undo(st_event *event);

/* Ends a pending event with code (and a reason when code is not 0: error, or one made up from `name` when error is NULL
 * or empty), calls the listeners, then wakes who waits. The event may be gone when this returns. */
void st_event_complete(st_event *event, int code, const stretto_error *error, const char *name);

/* Hangs listener on a pending event. False when the event is done (code and error can be read): then fn is not called.
 */
bool st_event_listen(st_event *event, st_listener *listener);

/* Waits until the event is done, completed by another thread: spins for a few microseconds, then sleeps. What `wait` is
 * for a unit that runs in real time. */
void st_event_block(st_event *event);

#endif
