/* SPDX-License-Identifier: MIT
 * The schedules that there are: which units can work at once, and what they can do together. */
#include "base/error.h"
#include "base/mem.h"
#include "plan/candidates.h"
#include "plan/choose_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SETS_MAX 64     /* of units that can work at once */
#define CHOSEN_UNITS 5  /* with more units not all sets are tried, */
#define PAIRED_UNITS 8  /* and with more not all pairs */
#define MICRO_BATCH 256 /* as many tokens of a prompt as a call has at most, unless fewer are better */
#define BESIDE_ROWS 3   /* the best schedules, which are tried with the host's work beside, too */

/* Units that share no core, in the table's order. */
typedef struct unit_set {
    uint32_t units[ST_PLAN_UNITS_MAX], n;
} unit_set;

typedef struct unit_sets {
    unit_set list[SETS_MAX];
    uint32_t n;
} unit_sets;

/* ---- sets of units ---- */

static bool set_add(const chooser *c, unit_set *set, uint32_t unit) {
    for (uint32_t i = 0; i < set->n; i++) {
        if (st_costs_share_core(c->costs, set->units[i], unit)) return false;
    }
    set->units[set->n++] = unit;
    return true;
}

/* All sets of at least two. */
static void find_all_sets(const chooser *c, unit_sets *sets) {
    uint32_t n = c->costs->n_units;
    for (uint32_t chosen = 1; chosen < 1u << n; chosen++) {
        unit_set set = {.n = 0};
        bool apart = true;
        for (uint32_t u = 0; u < n; u++)
            if (chosen >> u & 1) apart = apart && set_add(c, &set, u);
        if (apart && set.n > 1) sets->list[sets->n++] = set;
    }
}

/* Pairs, and, where more than two fit, as many as fit together. */
static void find_some_sets(const chooser *c, unit_sets *sets) {
    uint32_t n = c->costs->n_units;
    unit_set largest = {.n = 0};
    for (uint32_t x = 0; x < n; x++) {
        unit_set all = {{x}, 1};
        for (uint32_t y = x + 1; y < n; y++) {
            unit_set pair = {{x}, 1};
            set_add(c, &all, y);
            if (n <= PAIRED_UNITS && set_add(c, &pair, y)) sets->list[sets->n++] = pair;
        }
        if (all.n > largest.n) largest = all;
    }
    if (largest.n > 2 || (n > PAIRED_UNITS && largest.n == 2)) sets->list[sets->n++] = largest;
}

/* ---- the kinds ---- */

/* Places of chunks, for several streams. What lets micro-batches follow each other lets calls of fewer streams do so,
 * too, and where a call has several that may cost more than it gains. */
static void add_staged(chooser *c, const st_schedule *places, uint32_t batch) {
    st_schedule s = *places;
    st_candidate_stage(&s, c->workload->streams, batch);
    st_schedule apart = chooser_fitting(c, &s), close = apart;
    close.pipelined = true;
    s.pipelined = batch == 1 || chooser_try(c, &close) < chooser_try(c, &apart);
    chooser_add_new(c, &s);
}

/* So that so many streams in flight fit. */
static bool cut_for(const chooser *c, const unit_set *set, uint32_t streams, st_candidate_call call, st_schedule *out) {
    const uint64_t tokens = (uint64_t)c->workload->prompt + c->workload->generate;
    return st_candidate_cut(out, c->costs, set->units, set->n, call, streams * tokens);
}

static bool cut_anyhow(const chooser *c, const unit_set *set, st_candidate_call call, st_schedule *out) {
    return st_candidate_cut(out, c->costs, set->units, set->n, call, ST_CANDIDATE_ANY_ROOM);
}

/* For one stream; where that fits nowhere, what was too much is told of the best cut. */
static bool cut(const chooser *c, const unit_set *set, st_candidate_call call, st_schedule *out) {
    return cut_for(c, set, 1, call, out) || cut_anyhow(c, set, call, out);
}

/* Where memory is short, fewer streams in flight may leave room for a quicker cut: for all of them, half as many and so
 * on, down to two. */
static void add_staged_cuts(chooser *c, const unit_set *set, st_candidate_call call) {
    st_schedule s, before;
    bool any = false;
    for (uint32_t streams = c->workload->streams; streams > 1; streams = streams == 3 ? 2 : streams / 2) {
        if (!cut_for(c, set, streams, call, &s)) continue;
        if (!any || chooser_differ(&before, &s)) add_staged(c, &s, call.tokens);
        before = s;
        any = true;
    }
    if (!any && cut_anyhow(c, set, call, &s)) add_staged(c, &s, call.tokens);
}

static void add_single_units(chooser *c) {
    for (uint32_t u = 0; u < c->costs->n_units; u++) {
        st_schedule s;
        st_candidate_one(&s, c->costs, u);
        chooser_add(c, &s);
    }
}

static void add_no_split(chooser *c, const unit_set *set, const st_schedule *s) {
    st_buf title = {0};
    st_buf_text(&title, "chunks on ");
    for (uint32_t i = 0; i < set->n; i++)
        st_buf_printf(&title, "%s%s",
                      i == 0            ? ""
                      : i + 1 == set->n ? " and "
                                        : ", ",
                      c->costs->units[set->units[i]].name);
    chooser_add_impossible(c, s, title.failed ? "chunks on several units" : title.data,
                           "wherever they are cut, a unit has one that it cannot run");
    st_buf_free(&title);
}

static void add_splits(chooser *c, const unit_set *set) {
    st_schedule s;
    const st_candidate_call one = {ST_WORK_DECODE, 1};
    uint32_t k = c->workload->streams, batch = (k + set->n - 1) / set->n;
    if (cut(c, set, one, &s)) {
        chooser_add(c, &s);
    } else if (set->n <= c->costs->n_chunks) {
        st_candidate_one(&s, c->costs, set->units[0]);
        add_no_split(c, set, &s);
    }
    if (cut(c, set, (st_candidate_call){ST_WORK_PREFILL, 64}, &s)) {
        s.pipelined = true;
        chooser_add(c, &s);
    }
    if (k < 2) return;
    add_staged_cuts(c, set, one);
    if (batch > 1) add_staged_cuts(c, set, (st_candidate_call){ST_WORK_DECODE, batch});
}

/* Each chunk where the chain of one stream, or a prompt, is over soonest: of units that are good at different chunks,
 * or cannot run all. */
static void add_chains(chooser *c, const unit_set *set) {
    const st_workload *w = c->workload;
    st_schedule s;
    uint32_t part = w->prompt < MICRO_BATCH ? w->prompt : MICRO_BATCH, batch = (w->streams + set->n - 1) / set->n;
    if (st_candidate_chain(&s, c->costs, set->units, set->n, (st_candidate_call){ST_WORK_PREFILL, part})) {
        s.pipelined = true;
        chooser_add_new(c, &s);
    }
    if (st_candidate_chain(&s, c->costs, set->units, set->n, (st_candidate_call){ST_WORK_DECODE, 1}))
        chooser_add_new(c, &s);
    for (uint32_t i = 0; i < 2 && w->streams > 1; i++) {
        uint32_t rows = i == 0 ? batch : w->streams;
        if (st_candidate_chain(&s, c->costs, set->units, set->n, (st_candidate_call){ST_WORK_DECODE, rows}))
            add_staged(c, &s, rows);
    }
}

/* The whole chain in one call of such work. */
static double whole_ns(const chooser *c, uint32_t unit, enum st_work work, uint32_t tokens) {
    double ns = 0;
    for (uint32_t i = 0; i < c->costs->n_chunks; i++)
        ns += st_cost_ns(c->costs, i, unit, work, tokens) + c->costs->units[unit].dispatch_ns;
    return ns;
}

/* The same units, quickest first at such work; those that are alike in the table's order. */
static unit_set quickest_first(const chooser *c, const unit_set *set, enum st_work work, uint32_t tokens) {
    unit_set sorted = {.n = 0};
    for (uint32_t i = 0; i < set->n; i++) {
        uint32_t at = sorted.n++;
        double own = whole_ns(c, set->units[i], work, tokens);
        for (; at > 0 && own < whole_ns(c, sorted.units[at - 1], work, tokens); at--)
            sorted.units[at] = sorted.units[at - 1];
        sorted.units[at] = set->units[i];
    }
    return sorted;
}

static void replicas_on(const chooser *c, const unit_set *set, st_schedule *out) {
    st_candidate_replicas(out, c->costs, set->units, set->n, c->workload->streams);
}

static double try_replicas(const chooser *c, const unit_set *set) {
    st_schedule s;
    replicas_on(c, set, &s);
    s = chooser_fitting(c, &s);
    return chooser_try(c, &s);
}

/* Where streams are no multiple of the units, the first ones have one more: so these are the quick ones, at decoding or
 * at prompts, whichever is better. */
static void add_replicas(chooser *c, const unit_set *set) {
    const st_workload *w = c->workload;
    uint32_t batch = (w->streams + set->n - 1) / set->n;
    unit_set decode = quickest_first(c, set, ST_WORK_DECODE, batch);
    unit_set prompt = quickest_first(c, set, ST_WORK_PREFILL, w->prompt < MICRO_BATCH ? w->prompt : MICRO_BATCH);
    bool differ = memcmp(decode.units, prompt.units, decode.n * sizeof *decode.units) != 0;
    st_schedule s;
    replicas_on(c, differ && try_replicas(c, &prompt) < try_replicas(c, &decode) ? &prompt : &decode, &s);
    chooser_add(c, &s);
}

static void add_whole_models(chooser *c, const unit_set *set) {
    st_schedule s;
    uint32_t k = c->workload->streams;
    for (uint32_t i = 0; i < set->n && set->n == 2; i++) {
        st_candidate_handover(&s, c->costs, set->units[i], set->units[1 - i], k);
        chooser_add(c, &s);
    }
    if (k > 1) add_replicas(c, set);
}

static void add_batched(chooser *c) {
    for (uint32_t u = 0; u < c->costs->n_units && c->workload->streams > 1; u++) {
        st_schedule s;
        st_candidate_batched(&s, c->costs, u, c->workload->streams);
        chooser_add(c, &s);
    }
}

/* The best length of a draft on a unit that does not share a core with the draft model's. */
static void add_drafts_on(chooser *c, uint32_t unit, enum st_draft draft, uint32_t draft_unit) {
    st_schedule s, best = {0};
    double least = INFINITY;
    for (uint32_t longest = 1; longest <= 8; longest *= 2) {
        st_candidate_one(&s, c->costs, unit);
        s.draft = draft;
        s.longest_draft = longest;
        if (draft == ST_DRAFT_MODEL) {
            snprintf(s.units[s.n_units], ST_PLAN_NAME, "%s", c->costs->units[draft_unit].name);
            s.draft_unit = s.n_units++;
        }
        double score = chooser_try(c, &s);
        if (longest > 1 && !(score < least)) continue;
        least = score;
        best = s;
    }
    chooser_add(c, &best);
}

static void add_lookup(chooser *c) {
    st_schedule s;
    st_candidate_one(&s, c->costs, 0);
    if (c->costs->acceptance[ST_DRAFT_LOOKUP] < 0) {
        chooser_add_impossible(
            c, &s, "drafts by lookup",
            "how often they are right is not known (--acceptance, or \"acceptance\" of a cost table)");
        return;
    }
    for (uint32_t u = 0; u < c->costs->n_units; u++) add_drafts_on(c, u, ST_DRAFT_LOOKUP, 0);
}

static void add_draft_models(chooser *c) {
    uint32_t n_models = 0;
    for (uint32_t d = 0; d < c->costs->n_units; d++) {
        if (!(c->costs->units[d].draft_ns > 0)) continue;
        for (uint32_t u = 0; u < c->costs->n_units; u++) {
            if (u == d || st_costs_share_core(c->costs, u, d)) continue;
            n_models++;
            add_drafts_on(c, u, ST_DRAFT_MODEL, d);
        }
    }
    st_schedule s;
    st_candidate_one(&s, c->costs, 0);
    if (n_models == 0)
        chooser_add_impossible(c, &s, "drafts by a model on another unit",
                               "no unit has a draft model beside another (\"draft_ns\" of a cost table's units)");
}

/* What does not exist, and why: never left out in silence. */
static void add_reasons(chooser *c, const unit_sets *sets) {
    st_schedule s;
    st_candidate_one(&s, c->costs, 0);
    if (sets->n == 0)
        chooser_add_impossible(
            c, &s, "several units",
            "there are no two units that share no core: measure some with --units, or add one to a cost table");
    if (sets->n > 0 && c->costs->n_chunks < 2)
        chooser_add_impossible(c, &s, "chunks on several units",
                               "there is one chunk: measure four with --chunks 4, or cut it in a cost table");
    if (c->workload->streams > 1) return;
    st_buf why = {0};
    st_chain_text(&why, c->costs);
    st_buf_text(&why, " is a chain: nothing of one stream can run beside it");
    chooser_add_impossible(c, &s, "one stream staged through the chunks", why.failed ? "a chain" : why.data);
    st_buf_free(&why);
    chooser_add_impossible(c, &s, "several streams: staged, batched, replicas",
                           "there is one stream; --streams 4 makes four");
}

static bool host_has_work(const st_costs *costs) {
    bool chooses = false;
    for (uint32_t u = 0; u < costs->n_units; u++) chooses = chooses || st_cost_choose_ns(costs, u) > 0;
    return chooses || costs->host.text_ns > 0;
}

/* The best of the rows that are not among taken[n] and have no draft, which follows what was verified; of those that
 * are equal by the goal the one that is done first. False: there is none. */
static bool best_but(const st_choice *choice, const size_t *taken, unsigned n, size_t *found) {
    const st_choice_row *best = NULL;
    for (size_t i = 0; i < choice->n_rows; i++) {
        const st_choice_row *row = &choice->rows[i];
        bool other = row->possible && row->schedule.draft == ST_DRAFT_NONE;
        for (unsigned k = 0; k < n; k++) other = other && taken[k] != i;
        if (!other || (best && row->score > best->score)) continue;
        if (!best || row->score < best->score || row->result.end_ns < best->result.end_ns) best = row, *found = i;
    }
    return best != NULL;
}

/* The best schedules again, with the host's work beside the next steps. */
static void add_host_beside(chooser *c) {
    if (!host_has_work(c->costs)) return;
    size_t best[BESIDE_ROWS];
    unsigned n = 0;
    while (n < BESIDE_ROWS && best_but(c->out, best, n, &best[n])) n++;
    for (unsigned i = 0; i < n; i++) {
        st_schedule beside = c->out->rows[best[i]].schedule; /* a copy: rows move when there are more */
        beside.host_beside = true;
        chooser_add(c, &beside);
    }
}

void chooser_add_all(chooser *c) {
    unit_sets *sets = st_alloc(1, sizeof *sets); /* too large for a stack */
    if (!sets) {
        c->code = st_fail_memory(c->err, "the sets of units", sizeof *sets);
        return;
    }
    if (c->costs->n_units <= CHOSEN_UNITS)
        find_all_sets(c, sets);
    else
        find_some_sets(c, sets);
    add_single_units(c);
    add_batched(c);
    for (uint32_t i = 0; i < sets->n; i++) {
        if (c->costs->n_chunks > 1) add_splits(c, &sets->list[i]);
        if (c->costs->n_chunks > 1) add_chains(c, &sets->list[i]);
        add_whole_models(c, &sets->list[i]);
    }
    add_lookup(c);
    add_draft_models(c);
    add_reasons(c, sets);
    add_host_beside(c);
    st_free(sets);
}
