/* SPDX-License-Identifier: MIT
 * Trace events in JSON as chrome://tracing defined them and Perfetto reads them ("Trace Event Format", the Chromium
 * project): X slices, M names. Each schedule has a process of what was predicted and, below, one of what was measured,
 * with a thread for each unit and, predicted, for the host. Times are microseconds since the prompts were handed over.
 */
#include "report/plan_report.h"

#include <stdio.h>

#define EVENTS_MOST 20000 /* of a schedule: a viewer of traces has its limits */

static json_t *name(const char *what, unsigned pid, unsigned tid, const char *text) {
    json_t *args = json_object(), *event = json_object();
    st_json_set(&args, "name", st_json_text(text));
    st_json_set(&event, "ph", st_json_text("M"));
    st_json_set(&event, "name", st_json_text(what));
    st_json_set(&event, "pid", st_json_count(pid));
    st_json_set(&event, "tid", st_json_count(tid));
    st_json_set(&event, "args", args);
    return event;
}

static json_t *slice(unsigned pid, const st_sim_event *e, const st_schedule *schedule) {
    json_t *args = json_object(), *event = json_object();
    char text[64];
    bool chunk = e->unit < schedule->n_units && e->what != ST_SIM_DRAFT;
    snprintf(text, sizeof text, chunk ? "%s %u" : "%s", st_sim_what_names[e->what], e->chunk + 1u);
    st_json_set(&args, "stream", st_json_count(e->stream));
    st_json_set(&args, "tokens", st_json_count(e->tokens));
    st_json_set(&event, "ph", st_json_text("X"));
    st_json_set(&event, "name", st_json_text(text));
    st_json_set(&event, "cat", st_json_text(st_sim_what_names[e->what]));
    st_json_set(&event, "pid", st_json_count(pid));
    st_json_set(&event, "tid", st_json_count(e->unit + 1u));
    st_json_set(&event, "ts", st_json_real(e->start_ns / 1e3));
    st_json_set(&event, "dur", st_json_real((e->end_ns - e->start_ns) / 1e3));
    st_json_set(&event, "args", args);
    return event;
}

static void add_process(json_t **events, unsigned pid, const char *kind, const st_choice_row *row,
                        const st_sim_event *list, size_t n) {
    const st_schedule *s = &row->schedule;
    st_buf title = {0};
    st_buf_printf(&title, "%s: %s", kind, row->title);
    st_json_append(events, title.failed ? NULL : name("process_name", pid, 0, title.data));
    st_buf_free(&title);
    for (uint32_t u = 0; u <= s->n_units; u++)
        st_json_append(events, name("thread_name", pid, u + 1, u < s->n_units ? s->units[u] : "host"));
    for (size_t i = 0; i < n && i < EVENTS_MOST; i++) st_json_append(events, slice(pid, &list[i], s));
}

json_t *st_plan_trace(const st_choice *choice, const st_costs *costs, const st_origin *origin) {
    json_t *object = json_object(), *events = json_array(), *about = json_object();
    for (size_t i = 0; i < choice->n_possible; i++) {
        const st_choice_row *row = &choice->rows[i];
        unsigned pid = 2 * (unsigned)i + 1;
        st_sim_result again; /* the same seed, so the same as before, this time with its events */
        st_sim_options options = {.seed = choice->seed, .record = true};
        if (st_simulate(&again, costs, &row->schedule, &choice->workload, &options, NULL)) continue;
        add_process(&events, pid, "predicted", row, again.events, again.n_events);
        st_sim_result_free(&again);
        if (row->measured.done)
            add_process(&events, pid + 1, "measured", row, row->measured.events, row->measured.n_events);
    }
    if (origin) st_json_origin(&about, origin);
    st_json_set(&object, "displayTimeUnit", st_json_text("ns"));
    st_json_set(&object, "otherData", about);
    st_json_set(&object, "traceEvents", events);
    return object;
}
