/* SPDX-License-Identifier: MIT */
#include "plan/candidates.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MICRO_BATCH 256
#define CHAIN_GAIN 0.02 /* costs that were measured are not known better than that */
#define CHAIN_SHOWN 8   /* chunks of a chain that are listed; of more, the first and the last */

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

static bool can_run(const st_costs *costs, uint32_t chunk, uint32_t unit) {
    return st_costs_curve(costs, chunk, unit, ST_WORK_DECODE)->n > 0;
}

/* Cuts are looked for twice: what is as short as can be is first the longest stage, and then, of all cuts that have
 * none longer (where one chunk takes long there are many), all stages together. */
#define ANY_STAGE (-1.0)

/* What stages come to with one more of so many ns: the longest of them, or, where none may be longer than `most`, their
 * sum; negative: it is. */
static double with_stage(double before, double ns, double most) {
    if (most < 0) return before > ns ? before : ns;
    return ns <= most ? before + ns : -1;
}

typedef struct split {
    double least[ST_PLAN_CHUNKS_MAX + 1];                   /* of the first so many chunks on the units so far */
    uint8_t cut[ST_PLAN_UNITS_MAX][ST_PLAN_CHUNKS_MAX + 1]; /* the chunk with which the last of these units begins */
} split;

/* Whether a unit has room for a chunk beside those that it was given, whose bytes are counted in *bytes. */
static bool takes(const st_costs *costs, uint32_t unit, uint32_t chunk, uint64_t positions, uint64_t *bytes) {
    if (positions == ST_CANDIDATE_ANY_ROOM) return true;
    *bytes = st_bytes_sum(*bytes, st_costs_chunk_bytes(costs, chunk, positions));
    return st_costs_room(costs, unit, *bytes);
}

/* One more unit takes chunks cut..end-1 of the first `end`, if it can run all of them. */
static void split_extend(split *s, const st_costs *costs, uint32_t unit, uint32_t nth, st_candidate_call call,
                         uint64_t positions, double most) {
    double ns[ST_PLAN_CHUNKS_MAX], before[ST_PLAN_CHUNKS_MAX + 1];
    for (uint32_t c = 0; c < costs->n_chunks; c++)
        ns[c] = st_cost_ns(costs, c, unit, call.work, call.tokens) + costs->units[unit].dispatch_ns;
    memcpy(before, s->least, sizeof before);
    for (uint32_t end = 0; end <= costs->n_chunks; end++) {
        double sum = 0;
        uint64_t bytes = 0;
        s->least[end] = -1;
        for (uint32_t cut = end; cut-- > nth && can_run(costs, cut, unit);) { /* a chunk at least for each before */
            sum += ns[cut];
            if (!takes(costs, unit, cut, positions, &bytes)) break;
            if (nth == 0 ? cut > 0 : before[cut] < 0) continue;
            double all = with_stage(nth > 0 ? before[cut] : 0, sum, most);
            if (all < 0 || (s->least[end] >= 0 && s->least[end] <= all)) continue;
            s->least[end] = all;
            s->cut[nth][end] = (uint8_t)cut;
        }
    }
}

static double longest_stage(const st_costs *costs, const st_schedule *s, st_candidate_call call) {
    double longest = 0, stage = 0;
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        uint32_t unit = st_costs_unit(costs, s->units[s->chunks[i].unit]);
        if (i > 0 && s->chunks[i].unit != s->chunks[i - 1].unit) stage = 0;
        stage += st_cost_ns(costs, i, unit, call.work, call.tokens) + costs->units[unit].dispatch_ns;
        if (stage > longest) longest = stage;
    }
    return longest;
}

bool st_candidate_split(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                        st_candidate_call call, uint64_t positions) {
    split s = {.least = {0}};
    if (n == 0 || n > costs->n_chunks || n > ST_PLAN_UNITS_MAX) return false;
    for (uint32_t i = 0; i < n; i++) split_extend(&s, costs, units[i], i, call, positions, ANY_STAGE);
    double longest = s.least[costs->n_chunks];
    if (longest < 0) return false;
    for (uint32_t i = 0; i < n; i++) split_extend(&s, costs, units[i], i, call, positions, longest);
    begin(out, costs, ST_SCHEDULE_PLACED, 1);
    for (uint32_t i = 0; i < n; i++) add_unit(out, costs, units[i]);
    for (uint32_t i = n, end = costs->n_chunks; i-- > 0;) {
        uint32_t cut = s.cut[i][end];
        for (uint32_t c = cut; c < end; c++) out->chunks[c].unit = i;
        end = cut;
    }
    return true;
}

/* ---- splits in any order ---- */

/* Of each set of the units, a bit each: what the first so many chunks come to, negative where they cannot run there;
 * the last of these units, and where it begins. */
typedef struct cuts {
    const st_costs *costs;
    const uint32_t *units;
    uint64_t positions;
    double ns[ST_CANDIDATE_ORDERED][ST_PLAN_CHUNKS_MAX]; /* of each chunk; negative: it cannot run there */
    double least[1u << ST_CANDIDATE_ORDERED][ST_PLAN_CHUNKS_MAX + 1];
    uint8_t cut[1u << ST_CANDIDATE_ORDERED][ST_PLAN_CHUNKS_MAX + 1];
    uint8_t last[1u << ST_CANDIDATE_ORDERED][ST_PLAN_CHUNKS_MAX + 1];
} cuts;

/* Unit u is the last of the set. */
static void cuts_extend(cuts *s, uint32_t set, uint32_t u, double most) {
    uint32_t before = set & ~(1u << u);
    for (uint32_t end = 1; end <= s->costs->n_chunks; end++) {
        double sum = 0, *least = &s->least[set][end];
        uint64_t bytes = 0;
        for (uint32_t cut = end; cut-- > 0 && s->ns[u][cut] >= 0;) {
            sum += s->ns[u][cut];
            if (!takes(s->costs, s->units[u], cut, s->positions, &bytes)) break;
            double all = s->least[before][cut] < 0 ? -1 : with_stage(s->least[before][cut], sum, most);
            if (all < 0 || (*least >= 0 && *least <= all)) continue;
            *least = all;
            s->cut[set][end] = (uint8_t)cut;
            s->last[set][end] = (uint8_t)u;
        }
    }
}

static void cuts_times(cuts *s, uint32_t n, st_candidate_call call) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t c = 0; c < s->costs->n_chunks; c++) {
            const uint32_t u = s->units[i];
            s->ns[i][c] = can_run(s->costs, c, u)
                              ? st_cost_ns(s->costs, c, u, call.work, call.tokens) + s->costs->units[u].dispatch_ns
                              : -1;
        }
}

/* What all chunks on all n units come to at least; negative: they cannot run. */
static double cuts_find(cuts *s, uint32_t n, double most) {
    const uint32_t n_chunks = s->costs->n_chunks;
    for (uint32_t set = 0; set < 1u << n; set++) {
        s->least[set][0] = set == 0 ? 0 : -1;
        for (uint32_t end = 1; end <= n_chunks; end++) s->least[set][end] = -1;
        for (uint32_t u = n; u-- > 0;)
            if (set >> u & 1) cuts_extend(s, set, u, most);
    }
    return s->least[(1u << n) - 1][n_chunks];
}

/* Of two orders. */
static bool cut_both_ways(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                          st_candidate_call call, uint64_t positions) {
    uint32_t back[ST_PLAN_UNITS_MAX];
    st_schedule other;
    if (n > ST_PLAN_UNITS_MAX) return false;
    for (uint32_t i = 0; i < n; i++) back[i] = units[n - 1 - i];
    bool good = st_candidate_split(out, costs, units, n, call, positions);
    if (!st_candidate_split(&other, costs, back, n, call, positions)) return good;
    if (!good || longest_stage(costs, &other, call) < longest_stage(costs, out, call)) *out = other;
    return true;
}

static bool cut_any_way(cuts *s, st_schedule *out, uint32_t n, st_candidate_call call) {
    const st_costs *costs = s->costs;
    uint32_t set = (1u << n) - 1, end = costs->n_chunks, place[ST_PLAN_CHUNKS_MAX];
    cuts_times(s, n, call);
    double longest = n > 0 ? cuts_find(s, n, ANY_STAGE) : -1;
    if (longest < 0) return false;
    cuts_find(s, n, longest);
    while (end > 0) {
        uint32_t last = s->last[set][end], cut = s->cut[set][end];
        for (uint32_t c = cut; c < end; c++) place[c] = last;
        set &= ~(1u << last);
        end = cut;
    }
    begin(out, costs, ST_SCHEDULE_PLACED, 1);
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        if (c == 0 || place[c] != place[c - 1]) add_unit(out, costs, s->units[place[c]]);
        out->chunks[c].unit = out->n_units - 1;
    }
    return true;
}

bool st_candidate_cut(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                      st_candidate_call call, uint64_t positions) {
    cuts *s = n <= ST_CANDIDATE_ORDERED ? st_alloc(1, sizeof *s) : NULL; /* too large for a stack */
    if (!s) return cut_both_ways(out, costs, units, n, call, positions);
    s->costs = costs;
    s->units = units;
    s->positions = positions;
    bool good = cut_any_way(s, out, n, call);
    st_free(s);
    return good;
}

/* ---- chains ---- */

/* Of the calls of the first so many chunks, the quickest whose last one is on a unit; INFINITY: there is none. */
typedef struct chain {
    double ns[ST_PLAN_UNITS_MAX];
    uint8_t from[ST_PLAN_CHUNKS_MAX][ST_PLAN_UNITS_MAX]; /* where the chunk before ran */
} chain;

static double way_ns(const st_costs *costs, uint32_t from, uint32_t to, uint32_t tokens) {
    const st_cost_transfer *t = &costs->transfers[(size_t)from * costs->n_units + to];
    return from == to ? 0 : t->fixed_ns + t->token_ns * tokens;
}

static void chain_extend(chain *s, const st_costs *costs, const uint32_t *units, uint32_t n, uint32_t chunk,
                         const st_candidate_call *call) {
    double before[ST_PLAN_UNITS_MAX];
    memcpy(before, s->ns, sizeof before);
    for (uint32_t to = 0; to < n; to++) {
        double least = chunk == 0 ? 0 : INFINITY;
        for (uint32_t from = 0; from < n && chunk > 0; from++) {
            double ns = before[from] + way_ns(costs, units[from], units[to], call->tokens);
            if (ns < least) least = ns, s->from[chunk][to] = (uint8_t)from;
        }
        double own = st_cost_ns(costs, chunk, units[to], call->work, call->tokens);
        s->ns[to] = can_run(costs, chunk, units[to]) ? least + own + costs->units[units[to]].dispatch_ns : INFINITY;
    }
}

/* The unit of units[n] on which the quickest call ends, and whether that is quicker than on any one of them alone. */
static bool chain_end(const chain *s, const st_costs *costs, const uint32_t *units, uint32_t n,
                      const st_candidate_call *call, uint32_t *last) {
    double least = INFINITY, alone = INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        double choose = st_cost_choose_ns(costs, units[i]), own = choose;
        if (s->ns[i] + choose < least) least = s->ns[i] + choose, *last = i;
        for (uint32_t c = 0; c < costs->n_chunks; c++)
            own += can_run(costs, c, units[i])
                       ? st_cost_ns(costs, c, units[i], call->work, call->tokens) + costs->units[units[i]].dispatch_ns
                       : INFINITY;
        if (own < alone) alone = own;
    }
    return least < INFINITY && least < alone * (1 - CHAIN_GAIN);
}

bool st_candidate_chain(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                        st_candidate_call call) {
    chain s;
    uint32_t place[ST_PLAN_CHUNKS_MAX], number[ST_PLAN_UNITS_MAX], at = 0;
    if (n > ST_PLAN_UNITS_MAX) return false;
    for (uint32_t c = 0; c < costs->n_chunks; c++) chain_extend(&s, costs, units, n, c, &call);
    if (!chain_end(&s, costs, units, n, &call, &at)) return false;
    for (uint32_t c = costs->n_chunks; c-- > 0; at = c > 0 ? s.from[c][at] : 0) place[c] = at;
    begin(out, costs, ST_SCHEDULE_PLACED, 1);
    memset(number, 0xff, sizeof number);
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        uint32_t *own = &number[place[c]];
        if (*own == UINT32_MAX) {
            *own = out->n_units;
            add_unit(out, costs, units[place[c]]);
        }
        out->chunks[c].unit = *own;
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
