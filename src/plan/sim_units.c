/* SPDX-License-Identifier: MIT
 * Time and units. Two heaps hold what happens next: the busy units by when they will have finished at their present
 * speed, and arrivals. */
#include "plan/sim_impl.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static bool slowdowns_by_chunk(const sim *s) {
    size_t n_pairs = (size_t)s->costs->n_units * s->costs->n_units;
    bool any = false;
    for (size_t i = 0; i < n_pairs; i++) any = any || s->costs->chunk_slowdowns[i];
    return any && !(s->options->slowdown > 0);
}

void sim_units_init(sim *s, const uint32_t *unit_of) {
    s->by_chunk = slowdowns_by_chunk(s);
    s->n_units = s->schedule->n_units;
    s->free_call = SIM_NONE;
    for (uint32_t u = 0; u <= s->n_units; u++) {
        s->units[u] = (sim_unit){.table = u < s->n_units ? unit_of[u] : SIM_NONE,
                                 .head = SIM_NONE,
                                 .tail = SIM_NONE,
                                 .call = SIM_NONE,
                                 .event = SIM_NONE,
                                 .last_event = SIM_NONE};
    }
}

/* ---- calls ---- */

uint32_t sim_call_new(sim *s) {
    if (s->free_call == SIM_NONE) {
        uint32_t old = s->cap_calls, cap = old ? 2 * old : 256;
        sim_call *calls = realloc(s->calls, cap * sizeof *calls);
        if (!calls) {
            s->code = st_fail_memory(s->err, "a simulation's calls", (uint64_t)cap * sizeof *calls);
            return SIM_NONE;
        }
        s->calls = calls;
        s->cap_calls = cap;
        for (uint32_t i = cap; i-- > old;) {
            calls[i].next = s->free_call;
            s->free_call = i;
        }
    }
    uint32_t call = s->free_call;
    s->free_call = s->calls[call].next;
    s->calls[call] = (sim_call){.shares = SIM_NONE, .cause = SIM_NONE, .next = SIM_NONE};
    return call;
}

void sim_call_free(sim *s, uint32_t call) {
    s->calls[call].next = s->free_call;
    s->free_call = call;
}

/* ---- the heap of finishes ---- */

static bool finishes_before(const sim *s, uint32_t a, uint32_t b) {
    double x = s->units[a].finish_ns, y = s->units[b].finish_ns;
    return x < y || (x == y && a < b);
}

static void heap_put(sim *s, uint32_t at, uint32_t unit) {
    s->heap[at] = unit;
    s->units[unit].heap_at = at;
}

static void heap_up(sim *s, uint32_t at) {
    uint32_t unit = s->heap[at];
    for (; at > 0 && finishes_before(s, unit, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_put(s, at, s->heap[(at - 1) / 2]);
    heap_put(s, at, unit);
}

static void heap_down(sim *s, uint32_t at) {
    uint32_t unit = s->heap[at];
    for (uint32_t child = 2 * at + 1; child < s->n_heap; child = 2 * at + 1) {
        if (child + 1 < s->n_heap && finishes_before(s, s->heap[child + 1], s->heap[child])) child++;
        if (!finishes_before(s, s->heap[child], unit)) break;
        heap_put(s, at, s->heap[child]);
        at = child;
    }
    heap_put(s, at, unit);
}

static void heap_moved(sim *s, uint32_t unit) {
    heap_up(s, s->units[unit].heap_at);
    heap_down(s, s->units[unit].heap_at);
}

static void heap_remove(sim *s, uint32_t unit) {
    uint32_t at = s->units[unit].heap_at, last = s->heap[--s->n_heap];
    if (at == s->n_heap) return;
    heap_put(s, at, last);
    heap_moved(s, last);
}

/* ---- rates ---- */

static double slowness(const sim_unit *unit) {
    double slow = 1 + unit->excess;
    return slow > ST_COST_LEAST_RATE ? slow : ST_COST_LEAST_RATE;
}

static st_cost_call rows_of(const sim_call *call) {
    return (st_cost_call){call->tokens, call->n_prompt, call->wanted};
}

/* How much more time unit u's work takes while v works: 0, none. */
static double excess_beside(const sim *s, uint32_t u, uint32_t v) {
    if (s->options->slowdown > 0) return s->options->slowdown - 1;
    const sim_call *a = &s->calls[s->units[u].call], *b = &s->calls[s->units[v].call];
    st_cost_call x = rows_of(a), y = rows_of(b);
    return st_cost_slowdown(s->costs, s->units[u].table, a->chunk, st_cost_call_beside(&x), s->units[v].table, b->chunk,
                            st_cost_call_beside(&y)) -
           1;
}

/* From now on unit v is slowed by `more` in addition. */
static void change_rate(sim *s, uint32_t v, double more, bool alone) {
    sim_unit *unit = &s->units[v];
    unit->left_ns -= (s->now_ns - unit->updated_ns) / slowness(unit);
    if (unit->left_ns < 0) unit->left_ns = 0;
    unit->updated_ns = s->now_ns;
    unit->excess = alone ? 0 : unit->excess + more; /* exactly 0 when alone, whatever was added and taken away */
    unit->finish_ns = s->now_ns + unit->left_ns * slowness(unit);
    heap_moved(s, v);
}

/* Tells the busy units that u begins, or ends. */
static void tell_others(sim *s, uint32_t u, bool begins) {
    uint32_t n_others = begins ? s->n_busy - 1 : s->n_busy;
    for (uint32_t v = 0; v < s->n_units && n_others > 0; v++) {
        if (v == u || s->units[v].call == SIM_NONE) continue;
        double excess = excess_beside(s, v, u);
        if (begins) s->units[u].excess += excess_beside(s, u, v);
        if (excess != 0) change_rate(s, v, begins ? excess : -excess, !begins && n_others == 1);
    }
}

/* ---- the record ---- */

static uint32_t record(sim *s, uint32_t u, const sim_call *call, uint32_t cause) {
    st_sim_result *out = s->out;
    out->n_steps++;
    if (!s->options->record) return SIM_NONE;
    if (out->n_events == s->cap_events) {
        size_t cap = s->cap_events ? 2 * s->cap_events : 1024;
        st_sim_event *events = realloc(out->events, cap * sizeof *events);
        if (!events) {
            s->code = st_fail_memory(s->err, "a simulation's events", cap * sizeof *events);
            return SIM_NONE;
        }
        out->events = events;
        s->cap_events = cap;
    }
    out->events[out->n_events] = (st_sim_event){.start_ns = s->now_ns,
                                                .end_ns = s->now_ns,
                                                .stream = call->stream,
                                                .tokens = call->tokens,
                                                .cause = cause,
                                                .chunk = (uint16_t)call->chunk,
                                                .unit = (uint16_t)u,
                                                .what = u == s->n_units ? ST_SIM_HOST : call->what};
    return (uint32_t)out->n_events++;
}

/* ---- running ---- */

static double chunk_ns(const sim *s, uint32_t table, const sim_call *call) {
    st_cost_call rows = rows_of(call);
    return st_cost_call_ns(s->costs, call->chunk, table, &rows);
}

/* Tokens that a call at the host gives. */
static uint32_t tokens_given(const sim_call *call) {
    return call->what == ST_SIM_VERIFY ? call->given : call->wanted;
}

static double draft_ns(const sim *s, uint32_t table, const sim_call *call) {
    return call->n_prompt ? st_cost_draft_read_ns(s->costs, table, call->n_prompt) : s->costs->units[table].draft_ns;
}

/* Of a call whose last chunk has ended. */
static double host_ns(const sim *s, const sim_call *call) {
    const st_cost_host *host = &s->costs->host;
    const sim_station *station = &s->stations[call->station];
    uint32_t last = st_schedule_unit(s->schedule, call->chunk, !station->decodes, station->replica);
    double lookup = s->schedule->draft == ST_DRAFT_LOOKUP ? host->lookup_ns : 0;
    return st_cost_choose_ns(s->costs, s->units[last].table) + lookup + tokens_given(call) * host->text_ns;
}

static double solo_ns(const sim *s, uint32_t u, const sim_call *call) {
    if (u == s->n_units) return host_ns(s, call);
    const st_cost_unit *unit = &s->costs->units[s->units[u].table];
    double ns =
        call->what == ST_SIM_DRAFT ? draft_ns(s, s->units[u].table, call) : chunk_ns(s, s->units[u].table, call);
    return unit->dispatch_ns + ns;
}

/* Unit u begins, or ends. */
static void count_busy(sim *s, uint32_t u, bool begins) {
    if (u == s->n_units) return;
    if (begins && ++s->n_busy == 2) s->beside_from = s->now_ns;
    if (!begins && s->n_busy-- == 2) s->out->beside_ns += s->now_ns - s->beside_from;
}

static void start(sim *s, uint32_t u, uint32_t index, uint32_t cause) {
    sim_unit *unit = &s->units[u];
    const sim_call *call = &s->calls[index];
    unit->call = index;
    unit->excess = 0;
    unit->left_ns = solo_ns(s, u, call);
    unit->updated_ns = unit->start_ns = s->now_ns;
    unit->event = record(s, u, call, cause);
    heap_put(s, s->n_heap, u);
    s->n_heap++;
    count_busy(s, u, true);
    if (u < s->n_units) tell_others(s, u, true);
    unit->finish_ns = s->now_ns + unit->left_ns * slowness(unit);
    heap_moved(s, u);
}

static void stop(sim *s, uint32_t u) {
    sim_unit *unit = &s->units[u];
    s->out->busy_ns[u] += s->now_ns - unit->start_ns;
    if (unit->event != SIM_NONE) s->out->events[unit->event].end_ns = s->now_ns;
    heap_remove(s, u);
    count_busy(s, u, false);
    if (u < s->n_units) tell_others(s, u, false);
    unit->last_event = unit->event;
    unit->event = SIM_NONE;
    unit->call = SIM_NONE;
}

void sim_units_end(sim *s) {
    for (uint32_t u = 0; u <= s->n_units; u++)
        if (s->units[u].call != SIM_NONE) stop(s, u);
}

void sim_enqueue(sim *s, uint32_t u, uint32_t call) {
    sim_unit *unit = &s->units[u];
    if (s->code) return;
    if (unit->call == SIM_NONE && unit->head == SIM_NONE) {
        start(s, u, call, s->calls[call].cause);
        return;
    }
    if (unit->head == SIM_NONE) {
        unit->head = call;
    } else {
        s->calls[unit->tail].next = call;
    }
    unit->tail = call;
    s->calls[call].next = SIM_NONE;
}

static void start_next(sim *s, uint32_t u) {
    sim_unit *unit = &s->units[u];
    uint32_t call = unit->head;
    if (unit->call != SIM_NONE || call == SIM_NONE || s->code) return;
    unit->head = s->calls[call].next;
    if (unit->head == SIM_NONE) unit->tail = SIM_NONE;
    start(s, u, call, unit->last_event); /* it waited for the one before */
}

static bool stage_goes_on(const sim *s, uint32_t u, const sim_call *call) {
    const sim_station *station = &s->stations[call->station];
    if (u == s->n_units || call->what == ST_SIM_DRAFT || call->chunk + 1 == s->schedule->n_chunks) return false;
    return st_schedule_unit(s->schedule, call->chunk + 1, !station->decodes, station->replica) == u;
}

/* The next chunk of the stage begins: where slowdowns are the same for all chunks, nothing changes for the others. */
static void go_on(sim *s, uint32_t u) {
    sim_unit *unit = &s->units[u];
    sim_call *call = &s->calls[unit->call];
    s->out->busy_ns[u] += s->now_ns - unit->start_ns;
    if (unit->event != SIM_NONE) s->out->events[unit->event].end_ns = s->now_ns;
    call->cause = unit->event;
    call->chunk++;
    unit->left_ns = solo_ns(s, u, call);
    unit->updated_ns = unit->start_ns = s->now_ns;
    unit->event = record(s, u, call, call->cause);
    unit->finish_ns = s->now_ns + unit->left_ns * slowness(unit);
    heap_moved(s, u);
}

/* A stage is not interrupted; where it has ended the flow says where the call goes. */
static void finish(sim *s, uint32_t u) {
    uint32_t call = s->units[u].call;
    if (!s->by_chunk && stage_goes_on(s, u, &s->calls[call])) {
        go_on(s, u);
        return;
    }
    stop(s, u);
    s->calls[call].cause = s->units[u].last_event;
    if (stage_goes_on(s, u, &s->calls[call])) {
        s->calls[call].chunk++;
        start(s, u, call, s->calls[call].cause);
        return;
    }
    sim_flow_done(s, u, call);
    start_next(s, u);
}

/* ---- arrivals ---- */

static bool comes_before(const sim_arrival *a, const sim_arrival *b) {
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

void sim_arrive(sim *s, double at_ns, uint32_t call, uint32_t slot) {
    if (s->n_arrivals == s->cap_arrivals) {
        size_t cap = s->cap_arrivals ? 2 * s->cap_arrivals : 64;
        sim_arrival *arrivals = realloc(s->arrivals, cap * sizeof *arrivals);
        if (!arrivals) {
            s->code = st_fail_memory(s->err, "a simulation's arrivals", cap * sizeof *arrivals);
            return;
        }
        s->arrivals = arrivals;
        s->cap_arrivals = cap;
    }
    sim_arrival arrival = {.at_ns = at_ns, .order = s->order++, .call = call, .slot = slot};
    size_t at = s->n_arrivals++;
    for (; at > 0 && comes_before(&arrival, &s->arrivals[(at - 1) / 2]); at = (at - 1) / 2)
        s->arrivals[at] = s->arrivals[(at - 1) / 2];
    s->arrivals[at] = arrival;
}

static sim_arrival take_arrival(sim *s) {
    sim_arrival first = s->arrivals[0], last = s->arrivals[--s->n_arrivals];
    size_t at = 0;
    for (size_t child = 1; child < s->n_arrivals; child = 2 * at + 1) {
        if (child + 1 < s->n_arrivals && comes_before(&s->arrivals[child + 1], &s->arrivals[child])) child++;
        if (!comes_before(&s->arrivals[child], &last)) break;
        s->arrivals[at] = s->arrivals[child];
        at = child;
    }
    s->arrivals[at] = last;
    return first;
}

bool sim_step(sim *s) {
    if (s->code || (s->n_heap == 0 && s->n_arrivals == 0)) return false;
    if (s->n_heap > 0 && (s->n_arrivals == 0 || s->units[s->heap[0]].finish_ns <= s->arrivals[0].at_ns)) {
        uint32_t u = s->heap[0];
        s->now_ns = s->units[u].finish_ns;
        finish(s, u);
        return true;
    }
    sim_arrival arrival = take_arrival(s);
    s->now_ns = arrival.at_ns;
    sim_flow_arrived(s, &arrival);
    return true;
}
