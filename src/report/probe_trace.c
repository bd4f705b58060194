/* SPDX-License-Identifier: MIT
 * Trace events in JSON as chrome://tracing defined them and Perfetto reads them ("Trace Event Format", the Chromium
 * project): X slices, s and f ends of flows, M names. A process of the trace is a row's rounds in one process of the
 * probe; its threads are the one that submits (a round, and in it its arms) and one for each side. Times are
 * microseconds since the row began; rows stand one after the other, since nothing tells how far they were apart. */
#include "probe/estimate.h"
#include "report/probe_report.h"

#include <inttypes.h>
#include <string.h>

#define ROUNDS_MOST 2000 /* of a row: a viewer of traces has its limits */
#define GAP_NS 1000000   /* between rows */
enum { TID_ROUNDS = 1, TID_SIDE_A, TID_SIDE_B };

typedef struct tracer {
    st_buf *out;
    const st_probe_row *row;
    char *name[2], *unit[2]; /* as strings of JSON, quotes included; owned */
    unsigned pid;            /* of the row's first process */
    uint64_t offset_ns;      /* where the row begins */
    uint64_t next_flow;
    bool any; /* an event was written */
} tracer;

static char *quoted(const char *text) {
    json_t *value = st_json_text(text);
    char *dump = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    return dump;
}

static void begin_event(tracer *t, char phase, unsigned pid, unsigned tid) {
    st_buf_printf(t->out, "%s\n{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", t->any ? "," : "", phase, pid, tid);
    t->any = true;
}

static void time_field(tracer *t, const char *key, uint64_t ns) {
    st_buf_printf(t->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* ---- names ---- */

static void name_event(tracer *t, unsigned pid, unsigned tid, const char *what) {
    begin_event(t, 'M', pid, tid);
    st_buf_printf(t->out, ",\"ts\":0,\"name\":\"%s\",\"args\":{", what);
}

static void name_process(tracer *t, unsigned pid, unsigned process, unsigned n_processes) {
    char pair[ST_PAIR_TEXT];
    char *text = quoted(st_row_pair_text(pair, t->row));
    name_event(t, pid, 0, "process_name");
    st_buf_printf(t->out, "\"name\":\"%s: ", t->row->arrangement->title);
    if (text) st_buf_add(t->out, text + 1, strlen(text) - 2);
    if (n_processes > 1) st_buf_printf(t->out, ", process %u", process + 1);
    st_buf_text(t->out, "\"}}");
    t->out->failed |= !text;
    free(text);
    name_event(t, pid, 0, "process_sort_index");
    st_buf_printf(t->out, "\"sort_index\":%u}}", pid);
    name_event(t, pid, TID_ROUNDS, "thread_name");
    st_buf_text(t->out, "\"name\":\"rounds\"}}");
    for (unsigned side = 0; side < (t->row->k ? 1 : 2); side++) {
        name_event(t, pid, TID_SIDE_A + side, "thread_name");
        st_buf_printf(t->out, "\"name\":\"%.*s on %s}}", (int)strlen(t->name[side]) - 2, t->name[side] + 1,
                      t->unit[side] + 1);
    }
    for (unsigned tid = TID_ROUNDS; tid <= TID_SIDE_B; tid++) {
        name_event(t, pid, tid, "thread_sort_index");
        st_buf_printf(t->out, "\"sort_index\":%u}}", tid);
    }
}

/* ---- rounds ---- */

static void flow(tracer *t, unsigned pid, unsigned side, uint64_t from_ns, uint64_t to_ns) {
    uint64_t id = t->next_flow++;
    begin_event(t, 's', pid, TID_ROUNDS);
    time_field(t, "ts", from_ns);
    st_buf_printf(t->out, ",\"id\":%" PRIu64 ",\"cat\":\"submit\",\"name\":\"submit\"}", id);
    begin_event(t, 'f', pid, TID_SIDE_A + side);
    time_field(t, "ts", to_ns);
    st_buf_printf(t->out, ",\"id\":%" PRIu64 ",\"cat\":\"submit\",\"name\":\"submit\",\"bp\":\"e\"}", id);
}

static void trace_side(tracer *t, unsigned pid, const st_sample *s, unsigned side, uint64_t begin_ns) {
    if (s->end_ns[side] == 0) return; /* has no part in this arm */
    begin_event(t, 'X', pid, TID_SIDE_A + side);
    time_field(t, "ts", begin_ns + s->start_ns[side]);
    time_field(t, "dur", s->end_ns[side] - s->start_ns[side]);
    st_buf_printf(t->out, ",\"cat\":\"step\",\"name\":%s}", t->name[side]);
    flow(t, pid, side, begin_ns, begin_ns + s->start_ns[side]);
}

static void trace_arm(tracer *t, unsigned pid, const st_round *round, enum st_arm arm) {
    const st_sample *s = &round->arms[arm];
    uint64_t begin_ns = t->offset_ns + s->begin_ns;
    begin_event(t, 'X', pid, TID_ROUNDS);
    time_field(t, "ts", begin_ns);
    time_field(t, "dur", s->wall_ns);
    st_buf_printf(t->out, ",\"cat\":\"arm\",\"name\":\"%s\",\"args\":{\"outlier\":%s", st_arm_name(arm),
                  round->outliers >> arm & 1 ? "true" : "false");
    if (arm == ST_ARM_PARALLEL) time_field(t, "skew_us", s->skew_ns);
    st_buf_text(t->out, "}}");
    for (unsigned side = 0; side < 2; side++) trace_side(t, pid, s, side, begin_ns);
}

/* When the last arm of a round ended. */
static uint64_t round_end(const st_probe_row *row, const st_round *round) {
    const st_sample *last = &round->arms[round->order[row->n_arms - 1]];
    return last->begin_ns + last->wall_ns;
}

static void trace_round(tracer *t, size_t i) {
    const st_round *round = &t->row->rounds[i];
    unsigned pid = t->pid + round->process;
    uint64_t begin_ns = round->arms[round->order[0]].begin_ns;
    begin_event(t, 'X', pid, TID_ROUNDS);
    time_field(t, "ts", t->offset_ns + begin_ns);
    time_field(t, "dur", round_end(t->row, round) - begin_ns);
    st_buf_printf(t->out, ",\"cat\":\"round\",\"name\":\"round %zu\",\"args\":{\"overlap_factor\":%.4f}}", i + 1,
                  st_round_overlap(t->row, round));
    for (unsigned k = 0; k < t->row->n_arms; k++) trace_arm(t, pid, round, round->order[k]);
}

static void trace_row(tracer *t, unsigned n_processes) {
    const st_probe_row *row = t->row;
    uint64_t end = 0;
    for (unsigned side = 0; side < 2; side++) {
        t->name[side] = quoted(row->name[side]);
        t->unit[side] = quoted(row->unit[side]);
    }
    if (t->name[0] && t->name[1] && t->unit[0] && t->unit[1]) {
        for (unsigned i = 0; i < n_processes; i++) name_process(t, t->pid + i, i, n_processes);
        for (size_t i = 0; i < row->n_rounds && i < ROUNDS_MOST; i++) {
            trace_round(t, i);
            if (round_end(row, &row->rounds[i]) > end) end = round_end(row, &row->rounds[i]);
        }
    } else {
        t->out->failed = true;
    }
    for (unsigned side = 0; side < 2; side++) {
        free(t->name[side]);
        free(t->unit[side]);
    }
    t->offset_ns += end + GAP_NS;
    t->pid += n_processes;
}

void st_probe_trace(st_buf *out, const st_probe_record *record, const st_origin *origin) {
    tracer t = {.out = out, .pid = 1, .next_flow = 1};
    unsigned n_processes = record->n_processes ? record->n_processes : 1;
    json_t *about = json_object();
    if (origin) st_json_origin(&about, origin);
    st_json_set(&about, "title", st_json_text(record->title));
    st_json_set(&about, "rounds_of_a_row_at_most", st_json_count(ROUNDS_MOST));
    st_buf_text(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":");
    st_json_write(out, about, true);
    st_buf_text(out, ",\"traceEvents\":[");
    for (size_t i = 0; i < record->n_rows; i++) {
        if (record->rows[i].n_rounds == 0) continue;
        t.row = &record->rows[i];
        trace_row(&t, n_processes);
    }
    st_buf_text(out, "\n]}\n");
}
