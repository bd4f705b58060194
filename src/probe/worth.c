/* SPDX-License-Identifier: MIT */
#include "probe/worth.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PROCESS "process:"
#define STREAMS 4 /* that a pair is judged for */

/* ---- units ---- */

/* A process costs what the lane costs that it is like. */
static uint32_t unit_of(const st_costs *costs, const char *name) {
    size_t skip = strlen(PROCESS);
    return st_costs_unit(costs, strncmp(name, PROCESS, skip) == 0 ? name + skip : name);
}

static bool has_core(const st_cost_unit *unit, unsigned core) {
    for (uint32_t i = 0; i < unit->n_cores; i++)
        if (unit->cores[i] == core) return true;
    return false;
}

/* Whether unit has all cores of another. */
static bool covers(const st_cost_unit *unit, const st_cost_unit *other) {
    for (uint32_t i = 0; i < other->n_cores; i++)
        if (!has_core(unit, other->cores[i])) return false;
    return other->n_cores > 0;
}

/* The unit made of the cores of both, and no other. */
static uint32_t joined_of(const st_costs *costs, uint32_t x, uint32_t y) {
    uint32_t n = costs->units[x].n_cores + costs->units[y].n_cores; /* they share none */
    for (uint32_t i = 0; i < costs->n_units; i++) {
        const st_cost_unit *unit = &costs->units[i];
        if (unit->n_cores == n && covers(unit, &costs->units[x]) && covers(unit, &costs->units[y])) return i;
    }
    return ST_COST_NONE;
}

/* ---- verdicts ---- */

static enum st_worth_verdict judge(const st_probe_row *row, double break_even) {
    const st_interval *factor = st_row_decisive(row);
    if (row->flags & (ST_ROW_SPREAD | ST_ROW_FEW)) return ST_WORTH_UNDECIDED;
    if (factor->lo > break_even) return ST_WORTH_PAYS;
    /* One unit that serialises gains nothing by a second queue, however near to nothing the break-even is. */
    if (row->one_unit && row->verdict == ST_OVERLAP_SERIALISES) return ST_WORTH_DOES_NOT_PAY;
    return factor->hi < break_even ? ST_WORTH_DOES_NOT_PAY : ST_WORTH_UNDECIDED;
}

void st_worth_judge(st_probe_row *row) {
    for (unsigned use = 0; use < ST_USE_COUNT; use++)
        if (row->worth[use].has_break_even) row->worth[use].verdict = judge(row, row->worth[use].break_even);
}

static void worth_at(st_worth *worth, double break_even) {
    worth->has_break_even = true;
    worth->break_even = break_even;
}

/* ---- two units ---- */

static void take_answer(st_worth *worth, const st_break_even_result *result) {
    snprintf(worth->reason, sizeof worth->reason, "%s", result->reason);
    switch (result->answer) {
    case ST_BREAK_EVEN_AT:
        worth_at(worth, result->overlap);
        break;
    case ST_BREAK_EVEN_ALWAYS:
        worth_at(worth, -1);
        break;
    case ST_BREAK_EVEN_NEVER:
        worth->verdict = ST_WORTH_DOES_NOT_PAY;
        break;
    case ST_BREAK_EVEN_IMPOSSIBLE:
        worth->verdict = ST_WORTH_IMPOSSIBLE;
        break;
    case ST_BREAK_EVEN_UNKNOWN:
        worth->verdict = ST_WORTH_UNKNOWN;
        break;
    }
}

static int worth_of_two(st_probe_row *row, const st_costs *costs, uint32_t x, uint32_t y, stretto_error *err) {
    const st_break_even_question question = {.x = x, .y = y, .joined = joined_of(costs, x, y), .streams = STREAMS};
    int code = STRETTO_OK;
    for (unsigned use = ST_USE_PREFILL; use < ST_USE_COUNT && code == STRETTO_OK; use++) {
        st_break_even_result result;
        code = st_break_even(&result, costs, &question, (enum st_use)use, err);
        if (code == STRETTO_OK) take_answer(&row->worth[use], &result);
    }
    return code;
}

/* ---- one unit ---- */

/* All chunks, one after the other, in one call; 0: not known. */
static double chain_ns(const st_costs *costs, uint32_t unit, enum st_work work, uint32_t tokens) {
    double sum = 0;
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        double ns = st_cost_ns(costs, c, unit, work, tokens);
        if (!(ns > 0)) return 0;
        sum += ns;
    }
    return sum;
}

/* Two queues on the one unit, a stage of the chain each: what they have to overlap to be as good as one queue, whose
 * streams may go through in one call. */
static void worth_of_one(st_probe_row *row, const st_costs *costs, uint32_t unit) {
    double single = chain_ns(costs, unit, ST_WORK_DECODE, 1);
    double batched = chain_ns(costs, unit, ST_WORK_DECODE, STREAMS) / STREAMS;
    if (single > 0 && batched > 0) {
        st_worth *streams = &row->worth[ST_USE_STREAMS];
        worth_at(streams, fmax(single - batched, 0) / (single / 2)); /* stages of equal length gain most */
        snprintf(streams->reason, sizeof streams->reason,
                 "two queues of %s against %s: %d streams in one call are %.1f times as fast as one by one",
                 row->unit[0], batched < single ? "one call" : "one queue", STREAMS, single / fmin(batched, single));
    }
    st_worth *prefill = &row->worth[ST_USE_PREFILL];
    worth_at(prefill, 0);
    snprintf(prefill->reason, sizeof prefill->reason,
             "two queues of %s against one: what they gain is what the unit overlaps", row->unit[0]);
}

static void worth_of_batch(st_probe_row *row) {
    for (unsigned use = ST_USE_PREFILL; use < ST_USE_COUNT; use++) {
        st_worth *worth = &row->worth[use];
        worth_at(worth, 0);
        snprintf(worth->reason, sizeof worth->reason,
                 "one call of %u tokens through %s is %.2f times as fast as %u calls", row->k, row->name[0],
                 row->speedup.value, row->k);
    }
}

/* ---- all ---- */

static int row_worth(st_probe_row *row, const st_costs *costs, stretto_error *err) {
    if (row->n_rounds == 0 || !row->chain) return STRETTO_OK;
    int code = STRETTO_OK;
    if (row->k) {
        worth_of_batch(row);
    } else if (costs) {
        uint32_t x = unit_of(costs, row->unit[0]), y = unit_of(costs, row->unit[1]);
        if (x == ST_COST_NONE || y == ST_COST_NONE) return STRETTO_OK;
        if (row->one_unit)
            worth_of_one(row, costs, x);
        else if (x != y && !st_costs_share_core(costs, x, y))
            code = worth_of_two(row, costs, x, y, err);
    }
    st_worth_judge(row);
    return code;
}

/* Copies the points of all curves, so that the record says what its verdicts rest on. */
static int costs_note(st_probe_record *record, const st_costs *costs, stretto_error *err) {
    size_t most = (size_t)costs->n_chunks * costs->n_units * ST_WORKS * ST_COST_POINTS_MAX;
    record->costs = st_alloc(most, sizeof *record->costs);
    if (!record->costs) return st_fail_memory(err, "the chain's costs", most * sizeof *record->costs);
    for (uint32_t u = 0; u < costs->n_units; u++)
        for (uint32_t c = 0; c < costs->n_chunks; c++)
            for (unsigned work = 0; work < ST_WORKS; work++) {
                const st_cost_curve *curve = st_costs_curve(costs, c, u, (enum st_work)work);
                for (uint32_t i = 0; i < curve->n; i++) {
                    st_solo_cost *to = &record->costs[record->n_costs++];
                    snprintf(to->chunk, sizeof to->chunk, "%s", costs->chunks[c].name);
                    snprintf(to->unit, sizeof to->unit, "%s", costs->units[u].name);
                    to->prefill = work == ST_WORK_PREFILL;
                    to->tokens = curve->points[i].tokens;
                    to->ns = curve->points[i].ns;
                    to->weight_bytes = costs->chunks[c].weight_bytes;
                    to->kv_bytes = costs->chunks[c].kv_bytes;
                }
            }
    return STRETTO_OK;
}

int st_worth_set(st_probe_record *record, const st_costs *costs, stretto_error *err) {
    int code = costs ? costs_note(record, costs, err) : STRETTO_OK;
    for (size_t i = 0; i < record->n_rows && code == STRETTO_OK; i++) code = row_worth(&record->rows[i], costs, err);
    return code;
}
