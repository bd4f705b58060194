/* SPDX-License-Identifier: MIT */
#include "plan/candidates.h"

#include <stdio.h>
#include <string.h>

#define MICRO_BATCH 256
#define CHAIN_SHOWN 8 /* chunks of a chain that are listed; of more, the first and the last */

static void begin(st_schedule *out, const st_costs *costs, enum st_schedule_kind kind, uint32_t streams) {
    *out = (st_schedule){
        .kind = kind, .n_chunks = costs->n_chunks, .streams = streams, .batch = 1, .micro_batch = MICRO_BATCH};
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        const st_cost_chunk *chunk = &costs->chunks[c];
        out->chunks[c] =
            (st_schedule_chunk){.has_layers = chunk->has_layers, .first = chunk->first, .last = chunk->last};
    }
}

static void add_unit(st_schedule *out, const st_costs *costs, uint32_t unit) {
    snprintf(out->units[out->n_units++], ST_PLAN_NAME, "%s", costs->units[unit].name);
}

void st_candidate_one(st_schedule *out, const st_costs *costs, uint32_t unit) {
    const st_cost_unit *u = &costs->units[unit];
    bool several = u->n_threads ? u->n_threads > 1 : u->n_cores > 1;
    begin(out, costs, several ? ST_SCHEDULE_THREADS : ST_SCHEDULE_SERIAL, 1);
    add_unit(out, costs, unit);
}

void st_candidate_batched(st_schedule *out, const st_costs *costs, uint32_t unit, uint32_t streams) {
    begin(out, costs, ST_SCHEDULE_BATCHED, streams);
    out->batch = streams;
    add_unit(out, costs, unit);
}

/* ---- splits ---- */

typedef struct split {
    double longest[ST_PLAN_CHUNKS_MAX + 1];                  /* of the first so many chunks on the units so far */
    uint16_t cut[ST_PLAN_UNITS_MAX][ST_PLAN_CHUNKS_MAX + 1]; /* where the last of these units begins */
} split;

/* One more unit takes chunks cut..end-1 of the first `end`. */
static bool split_extend(split *s, const st_costs *costs, uint32_t unit, uint32_t nth, enum st_work work,
                         uint32_t tokens) {
    double ns[ST_PLAN_CHUNKS_MAX], before[ST_PLAN_CHUNKS_MAX + 1];
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        ns[c] = st_cost_ns(costs, c, unit, work, tokens);
        if (!(ns[c] > 0)) return false;
        ns[c] += costs->units[unit].dispatch_ns;
    }
    memcpy(before, s->longest, sizeof before);
    for (uint32_t end = 0; end <= costs->n_chunks; end++) {
        double sum = 0;
        s->longest[end] = -1;
        for (uint32_t cut = end; cut-- > nth;) { /* each unit before has one chunk at least */
            sum += ns[cut];
            if (nth == 0 ? cut > 0 : before[cut] < 0) continue;
            double longest = nth > 0 && before[cut] > sum ? before[cut] : sum;
            if (s->longest[end] >= 0 && s->longest[end] <= longest) continue;
            s->longest[end] = longest;
            s->cut[nth][end] = (uint16_t)cut;
        }
    }
    return true;
}

bool st_candidate_split(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n, enum st_work work,
                        uint32_t tokens) {
    split s;
    if (n > costs->n_chunks || n > ST_PLAN_UNITS_MAX) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!split_extend(&s, costs, units[i], i, work, tokens)) return false;
    }
    begin(out, costs, ST_SCHEDULE_PLACED, 1);
    for (uint32_t i = 0; i < n; i++) add_unit(out, costs, units[i]);
    for (uint32_t i = n, end = costs->n_chunks; i-- > 0;) {
        uint32_t cut = s.cut[i][end];
        for (uint32_t c = cut; c < end; c++) out->chunks[c].unit = i;
        end = cut;
    }
    return true;
}

void st_candidate_stage(st_schedule *schedule, uint32_t streams, uint32_t batch) {
    schedule->kind = ST_SCHEDULE_STAGED;
    schedule->streams = streams;
    schedule->batch = batch;
}

void st_candidate_replicas(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                           uint32_t streams) {
    begin(out, costs, ST_SCHEDULE_REPLICAS, streams);
    out->batch = (streams + n - 1) / n;
    for (uint32_t i = 0; i < n; i++) add_unit(out, costs, units[i]);
}

void st_candidate_handover(st_schedule *out, const st_costs *costs, uint32_t prompts, uint32_t unit, uint32_t streams) {
    begin(out, costs, ST_SCHEDULE_HANDOVER, streams);
    out->batch = streams;
    add_unit(out, costs, unit);
    add_unit(out, costs, prompts);
    out->prompt_unit = 1;
}

void st_chain_text(st_buf *out, const st_costs *costs) {
    uint32_t n = costs->n_chunks;
    st_buf_text(out, "token");
    for (uint32_t c = 0; c < n; c++) {
        if (n > CHAIN_SHOWN && c == 2) {
            st_buf_text(out, ", ...");
            c = n - 1;
        }
        st_buf_printf(out, ", %s", costs->chunks[c].name);
    }
    st_buf_text(out, ", token");
}
