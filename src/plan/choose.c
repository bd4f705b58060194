/* SPDX-License-Identifier: MIT */
#include "plan/choose.h"

#include "base/error.h"
#include "plan/break_even.h"
#include "plan/candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETS_MAX 64    /* of units that can work at once */
#define PAIRED_UNITS 8 /* with more units not all pairs are tried */
#define BESIDE_ROWS 3  /* the best schedules, which are tried with the host's work beside, too */
#define TURN_ROWS 4    /* the best schedules of several units, of which one may win at another overlap factor */
#define TURN_LEAST (-1.0)
#define TURN_PRECISION 1e-3

const char *const st_goal_names[] = {"latency", "throughput", "ttft", NULL};

/* What a result is worth, in nanoseconds: the less the better. */
static double goal_score(enum st_goal goal, const st_sim_result *r) {
    return goal == ST_GOAL_LATENCY ? r->latency_ns : goal == ST_GOAL_THROUGHPUT ? r->end_ns : r->ttft_ns;
}

bool st_row_overlaps(const st_choice_row *row) {
    return row->result.beside_ns > 0;
}

/* The overlap factor that the table's slowdowns of two units amount to, decoding: 2 minus their mean. */
static double costs_overlap(const st_costs *costs, uint32_t x, uint32_t y) {
    double there = *st_cost_unit_slowdown(costs, x, ST_WORK_DECODE, y, ST_WORK_DECODE);
    double back = *st_cost_unit_slowdown(costs, y, ST_WORK_DECODE, x, ST_WORK_DECODE);
    return st_overlap_of_slowdown((there + back) / 2);
}

void st_choice_free(st_choice *choice) {
    for (size_t i = 0; i < choice->n_rows; i++) {
        st_sim_result_free(&choice->rows[i].result);
        free(choice->rows[i].measured.events);
    }
    free(choice->rows);
    *choice = (st_choice){0};
}

/* Units that share no core, in the table's order. */
typedef struct unit_set {
    uint32_t units[ST_PLAN_UNITS_MAX], n;
} unit_set;

typedef struct chooser {
    const st_costs *costs;
    const st_workload *workload;
    st_choice *out;
    uint64_t seed;
    const atomic_bool *cancel;
    unit_set *sets; /* [n_sets] owned, room for SETS_MAX */
    uint32_t n_sets;
    stretto_error *err;
    int code;
} chooser;

/* ---- rows ---- */

static st_choice_row *new_row(chooser *c, const st_schedule *s) {
    st_choice *out = c->out;
    if (out->n_rows == out->cap_rows) {
        size_t cap = out->cap_rows ? 2 * out->cap_rows : 32;
        st_choice_row *rows = realloc(out->rows, cap * sizeof *rows);
        if (!rows) {
            c->code = st_fail_memory(c->err, "the schedules", cap * sizeof *rows);
            return NULL;
        }
        out->rows = rows;
        out->cap_rows = cap;
    }
    st_choice_row *row = &out->rows[out->n_rows++];
    *row = (st_choice_row){.schedule = *s};
    return row;
}

static void set_title(st_choice_row *row) {
    st_buf title = {0};
    st_schedule_title(&title, &row->schedule);
    snprintf(row->title, sizeof row->title, "%s", title.failed ? "" : title.data);
    st_buf_free(&title);
}

static void add_impossible(chooser *c, const st_schedule *s, const char *title, const char *why) {
    st_choice_row *row = c->code ? NULL : new_row(c, s);
    if (!row) return;
    snprintf(row->title, sizeof row->title, "%s", title);
    snprintf(row->why, sizeof row->why, "%s", why);
}

/* The micro-batch with which one prompt is read soonest. */
static uint32_t best_micro_batch(chooser *c, const st_schedule *s) {
    static const uint32_t sizes[] = {16, 32, 64, 128, 256};
    st_workload prompt = {1, c->workload->prompt, 1};
    st_schedule tried = *s;
    double least = INFINITY;
    uint32_t best = s->micro_batch;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        st_sim_result result;
        tried.micro_batch = sizes[i];
        if (st_simulate(&result, c->costs, &tried, &prompt, &(st_sim_options){.seed = c->seed, .cancel = c->cancel},
                        NULL))
            continue;
        if (result.ttft_ns < least * (1 - 1e-9)) least = result.ttft_ns, best = sizes[i];
        st_sim_result_free(&result);
        if (sizes[i] >= prompt.prompt) break;
    }
    return best;
}

/* What a row's schedule comes to, or why it is impossible. */
static void predict(chooser *c, st_choice_row *row) {
    stretto_error why = {0};
    st_sim_result_free(&row->result);
    row->possible = false;
    st_sim_options options = {.seed = c->seed, .record = true, .cancel = c->cancel}; /* for the critical path */
    int code = st_simulate(&row->result, c->costs, &row->schedule, c->workload, &options, &why);
    free(row->result.events);
    row->result.events = NULL;
    row->result.n_events = 0;
    if (code == STRETTO_OK) {
        row->possible = true;
        row->score = goal_score(c->out->goal, &row->result);
    } else if (code == STRETTO_E_INPUT) {
        snprintf(row->why, sizeof row->why, "%.310s", why.text);
    } else {
        c->code = st_fail(c->err, code, "%s", why.text);
    }
}

static void add_row(chooser *c, const st_schedule *s) {
    st_choice_row *row = c->code ? NULL : new_row(c, s);
    if (!row) return;
    row->schedule.micro_batch = best_micro_batch(c, s);
    set_title(row);
    predict(c, row);
}

/* ---- sets of units ---- */

static bool set_add(const chooser *c, unit_set *set, uint32_t unit) {
    for (uint32_t i = 0; i < set->n; i++) {
        if (st_costs_share_core(c->costs, set->units[i], unit)) return false;
    }
    set->units[set->n++] = unit;
    return true;
}

/* Pairs, and, where more than two fit, as many as fit together. */
static void find_sets(chooser *c) {
    uint32_t n = c->costs->n_units;
    for (uint32_t x = 0; x < n && n <= PAIRED_UNITS; x++) {
        for (uint32_t y = x + 1; y < n; y++) {
            unit_set set = {{x}, 1};
            if (set_add(c, &set, y)) c->sets[c->n_sets++] = set;
        }
    }
    for (uint32_t first = 0; first < n && c->n_sets < SETS_MAX; first++) {
        unit_set set = {{first}, 1};
        for (uint32_t u = first + 1; u < n; u++) set_add(c, &set, u);
        if (set.n > 2 || (n > PAIRED_UNITS && set.n == 2)) {
            c->sets[c->n_sets++] = set;
            break;
        }
    }
}

/* ---- the kinds ---- */

static void reversed(unit_set *set) {
    for (uint32_t i = 0; i < set->n / 2; i++) {
        uint32_t other = set->n - 1 - i, unit = set->units[i];
        set->units[i] = set->units[other];
        set->units[other] = unit;
    }
}

static double longest_stage(const chooser *c, const st_schedule *s, enum st_work work, uint32_t tokens) {
    double longest = 0, stage = 0;
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        uint32_t unit = st_costs_unit(c->costs, s->units[s->chunks[i].unit]);
        if (i > 0 && s->chunks[i].unit != s->chunks[i - 1].unit) stage = 0;
        stage += st_cost_ns(c->costs, i, unit, work, tokens);
        if (stage > longest) longest = stage;
    }
    return longest;
}

/* The better of the two orders. */
static bool split_both_ways(const chooser *c, const unit_set *set, enum st_work work, uint32_t tokens,
                            st_schedule *out) {
    unit_set back = *set;
    st_schedule other;
    reversed(&back);
    bool good = st_candidate_split(out, c->costs, set->units, set->n, work, tokens);
    if (!st_candidate_split(&other, c->costs, back.units, back.n, work, tokens)) return good;
    if (!good || longest_stage(c, &other, work, tokens) < longest_stage(c, out, work, tokens)) *out = other;
    return true;
}

static void add_single_units(chooser *c) {
    for (uint32_t u = 0; u < c->costs->n_units; u++) {
        st_schedule s;
        st_candidate_one(&s, c->costs, u);
        add_row(c, &s);
    }
}

static void add_splits(chooser *c, const unit_set *set) {
    st_schedule s;
    uint32_t k = c->workload->streams, batch = (k + set->n - 1) / set->n;
    if (split_both_ways(c, set, ST_WORK_DECODE, 1, &s)) add_row(c, &s);
    if (split_both_ways(c, set, ST_WORK_PREFILL, 64, &s)) {
        s.pipelined = true;
        add_row(c, &s);
    }
    if (k < 2) return;
    if (split_both_ways(c, set, ST_WORK_DECODE, 1, &s)) {
        st_candidate_stage(&s, k, 1);
        s.pipelined = true;
        add_row(c, &s);
    }
    if (batch > 1 && split_both_ways(c, set, ST_WORK_DECODE, batch, &s)) {
        st_candidate_stage(&s, k, batch);
        s.pipelined = true;
        add_row(c, &s);
    }
}

static void add_whole_models(chooser *c, const unit_set *set) {
    st_schedule s;
    uint32_t k = c->workload->streams;
    for (uint32_t i = 0; i < set->n && set->n == 2; i++) {
        st_candidate_handover(&s, c->costs, set->units[i], set->units[1 - i], k);
        add_row(c, &s);
    }
    if (k < 2) return;
    st_candidate_replicas(&s, c->costs, set->units, set->n, k);
    add_row(c, &s);
}

static void add_batched(chooser *c) {
    for (uint32_t u = 0; u < c->costs->n_units && c->workload->streams > 1; u++) {
        st_schedule s;
        st_candidate_batched(&s, c->costs, u, c->workload->streams);
        add_row(c, &s);
    }
}

/* The best length of a draft on a unit that does not share a core with the draft model's. */
static void add_drafts_on(chooser *c, uint32_t unit, enum st_draft draft, uint32_t draft_unit) {
    st_schedule s, best = {0};
    double least = INFINITY;
    for (uint32_t longest = 1; longest <= 8; longest *= 2) {
        st_sim_result result;
        st_candidate_one(&s, c->costs, unit);
        s.draft = draft;
        s.longest_draft = longest;
        if (draft == ST_DRAFT_MODEL) {
            snprintf(s.units[s.n_units], ST_PLAN_NAME, "%s", c->costs->units[draft_unit].name);
            s.draft_unit = s.n_units++;
        }
        bool first = longest == 1;
        int code = st_simulate(&result, c->costs, &s, c->workload,
                               &(st_sim_options){.seed = c->seed, .cancel = c->cancel}, NULL);
        if (code == STRETTO_OK && goal_score(c->out->goal, &result) < least) {
            least = goal_score(c->out->goal, &result);
            best = s;
        } else if (first) {
            best = s;
        }
        st_sim_result_free(&result);
    }
    add_row(c, &best);
}

static void add_lookup(chooser *c) {
    st_schedule s;
    st_candidate_one(&s, c->costs, 0);
    if (c->costs->acceptance[ST_DRAFT_LOOKUP] < 0) {
        add_impossible(c, &s, "drafts by lookup",
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
        add_impossible(c, &s, "drafts by a model on another unit",
                       "no unit has a draft model beside another (\"draft_ns\" of a cost table's units)");
}

/* What does not exist, and why: never left out in silence. */
static void add_reasons(chooser *c) {
    st_schedule s;
    st_candidate_one(&s, c->costs, 0);
    if (c->n_sets == 0)
        add_impossible(c, &s, "several units", "there are no two units that share no core; --units makes some");
    if (c->n_sets > 0 && c->costs->n_chunks < 2)
        add_impossible(c, &s, "chunks on several units", "there is one chunk; --chunks 4 makes four");
    if (c->workload->streams > 1) return;
    st_buf why = {0};
    st_chain_text(&why, c->costs);
    st_buf_text(&why, " is a chain: nothing of one stream can run beside it");
    add_impossible(c, &s, "one stream staged through the chunks", why.failed ? "a chain" : why.data);
    st_buf_free(&why);
    add_impossible(c, &s, "several streams: staged, batched, replicas", "there is one stream; --streams 4 makes four");
}

static bool host_has_work(const st_costs *costs) {
    bool chooses = false;
    for (uint32_t u = 0; u < costs->n_units; u++) chooses = chooses || st_cost_choose_ns(costs, u) > 0;
    return chooses || costs->host.text_ns > 0;
}

/* The best schedules again, with the host's work beside the next steps. */
static void add_host_beside(chooser *c) {
    if (!host_has_work(c->costs)) return;
    st_schedule best[BESIDE_ROWS];
    unsigned n = 0;
    double after = -1;
    while (n < BESIDE_ROWS) { /* the next best, by score */
        const st_choice_row *next = NULL;
        for (size_t i = 0; i < c->out->n_rows; i++) {
            const st_choice_row *row = &c->out->rows[i];
            if (row->possible && row->score > after && (!next || row->score < next->score)) next = row;
        }
        if (!next) break;
        after = next->score;
        if (next->schedule.draft == ST_DRAFT_NONE) best[n++] = next->schedule; /* a draft follows what was verified */
    }
    for (unsigned i = 0; i < n; i++) {
        best[i].host_beside = true;
        add_row(c, &best[i]);
    }
}

/* ---- the decision ---- */

static int order_rows(const void *a, const void *b) {
    const st_choice_row *x = a, *y = b;
    if (x->possible != y->possible) return x->possible ? -1 : 1;
    if (x->possible && x->score != y->score) return x->score < y->score ? -1 : 1;
    return strcmp(x->title, y->title);
}

static void because(const st_choice_row *row, const st_workload *workload, char *out, size_t size) {
    const st_schedule *s = &row->schedule;
    out[0] = '\0';
    if (s->draft != ST_DRAFT_NONE) {
        snprintf(out, size, ": a verification gives %.1f tokens", row->result.accepted);
    } else if (s->kind == ST_SCHEDULE_HANDOVER && st_row_overlaps(row)) {
        snprintf(out, size, ": one unit reads prompts while the other decodes");
    } else if (s->kind == ST_SCHEDULE_BATCHED || s->batch > 1) {
        snprintf(out, size, ": a call reads the weights once for %u streams", s->batch);
    } else if (s->kind == ST_SCHEDULE_PLACED && s->pipelined) {
        snprintf(out, size, ": the micro-batches of a prompt follow each other through the units");
    } else if (st_row_overlaps(row)) {
        double least = 1;
        for (uint32_t u = 0; u < s->n_units; u++)
            if (row->result.utilisation[u] < least) least = row->result.utilisation[u];
        snprintf(out, size, ": each of its units is busy %.0f %% of the time or more", 100 * least);
    } else if (workload->streams == 1) {
        snprintf(out, size, ": the steps of one stream are a chain, and run fastest there");
    }
}

static bool places_differ(const st_schedule *a, const st_schedule *b) {
    if (a->n_units != b->n_units || a->n_chunks != b->n_chunks) return true;
    for (uint32_t u = 0; u < a->n_units; u++)
        if (strcmp(a->units[u], b->units[u]) != 0) return true;
    for (uint32_t c = 0; c < a->n_chunks; c++)
        if (a->chunks[c].unit != b->chunks[c].unit) return true;
    return false;
}

/* In more than the host's work and how prompts are cut; both are of one table, and so of the same layers. */
static bool differ(const st_schedule *a, const st_schedule *b) {
    return a->kind != b->kind || a->streams != b->streams || a->batch != b->batch || a->pipelined != b->pipelined ||
           a->prompt_unit != b->prompt_unit || a->draft != b->draft || a->longest_draft != b->longest_draft ||
           a->draft_unit != b->draft_unit || strcmp(a->draft_model, b->draft_model) != 0 || places_differ(a, b);
}

static void explain(chooser *c) {
    static const char *const gains[] = {"less time for each token", "less time for all streams",
                                        "less time to the first token"};
    st_choice *out = c->out;
    if (out->n_possible == 0) return;
    char why[120];
    because(&out->rows[0], c->workload, why, sizeof why);
    out->runner_up = 1;
    while (out->runner_up < out->n_possible && !differ(&out->rows[0].schedule, &out->rows[out->runner_up].schedule))
        out->runner_up++;
    if (out->runner_up == out->n_possible) {
        snprintf(out->reason, sizeof out->reason, "%.140s is the only possible schedule", out->rows[0].title);
        return;
    }
    const st_choice_row *second = &out->rows[out->runner_up];
    double gain = 100 * (1 - out->rows[0].score / second->score);
    snprintf(out->reason, sizeof out->reason, "%.140s needs %.*f %% %s than %.140s%s", out->rows[0].title,
             gain < 9.95 ? 1 : 0, gain, gains[out->goal], second->title, why);
}

/* ---- what would change it ---- */

/* The best score of the best few schedules of several units if their units overlapped so much. */
static double overlapping_score(chooser *c, double overlap, const st_choice_row **which) {
    double best = INFINITY;
    unsigned tried = 0;
    for (size_t i = 0; i < c->out->n_possible && tried < TURN_ROWS; i++) {
        const st_choice_row *row = &c->out->rows[i];
        if (!st_row_overlaps(row)) continue;
        tried++;
        st_sim_result result;
        st_sim_options options = {.slowdown = st_slowdown_of_overlap(overlap), .seed = c->seed, .cancel = c->cancel};
        if (st_simulate(&result, c->costs, &row->schedule, c->workload, &options, NULL)) continue;
        double score = goal_score(c->out->goal, &result);
        if (score < best) best = score, *which = row;
        st_sim_result_free(&result);
    }
    return best;
}

static const st_choice_row *best_alone(const chooser *c) {
    for (size_t i = 0; i < c->out->n_possible; i++) {
        if (!st_row_overlaps(&c->out->rows[i])) return &c->out->rows[i];
    }
    return NULL;
}

static double row_overlap(const chooser *c, const st_choice_row *row) {
    uint32_t x = st_costs_unit(c->costs, row->schedule.units[0]), y = st_costs_unit(c->costs, row->schedule.units[1]);
    return costs_overlap(c->costs, x, y);
}

/* Between an overlap where the units together lose against `alone` and one where they win. */
static double turning_point(chooser *c, double alone, const st_choice_row **which) {
    double loses = TURN_LEAST, wins = 1;
    while (wins - loses > TURN_PRECISION) {
        double middle = (loses + wins) / 2;
        if (overlapping_score(c, middle, which) <= alone) {
            wins = middle;
        } else {
            loses = middle;
        }
    }
    return (loses + wins) / 2;
}

static void find_turn(chooser *c) {
    st_choice *out = c->out;
    const st_choice_row *alone = best_alone(c), *together = NULL;
    out->measured = NAN;
    if (!alone) return;
    double most = overlapping_score(c, 1, &together);
    if (!together) {
        if (c->costs->n_units > 1)
            snprintf(out->turn, sizeof out->turn,
                     "no overlap factor would change that: no possible schedule has two units at work at once");
        return;
    }
    const st_choice_row *at_most = together;
    bool wins = most <= alone->score, always = overlapping_score(c, TURN_LEAST, &together) <= alone->score;
    out->measured = row_overlap(c, at_most);
    if (!wins) {
        snprintf(out->turn, sizeof out->turn,
                 "no overlap factor would change that: even at 1 %.140s would take %.0f %% longer", at_most->title,
                 100 * (most / alone->score - 1));
    } else if (always) {
        snprintf(out->turn, sizeof out->turn, "no overlap factor would change that: %.140s wins even at -1",
                 together->title);
    } else {
        out->turns = true;
        out->overlap = turning_point(c, alone->score, &together);
        out->measured = row_overlap(c, together);
        bool now = st_row_overlaps(&out->rows[0]);
        double shown = fabs(out->overlap) < 0.005 ? 0 : out->overlap; /* not as -0.00 */
        snprintf(out->turn, sizeof out->turn, "%s an overlap factor of %.2f (here %.2f) %.140s would be the best",
                 now ? "below" : "above", shown, out->measured, now ? alone->title : together->title);
    }
}

static void add_rows(chooser *c) {
    find_sets(c);
    add_single_units(c);
    add_batched(c);
    for (uint32_t i = 0; i < c->n_sets; i++) {
        if (c->costs->n_chunks > 1) add_splits(c, &c->sets[i]);
        add_whole_models(c, &c->sets[i]);
    }
    add_lookup(c);
    add_draft_models(c);
    add_reasons(c);
    add_host_beside(c);
}

static void decide(chooser *c) {
    st_choice *out = c->out;
    qsort(out->rows, out->n_rows, sizeof *out->rows, order_rows);
    out->n_possible = 0;
    while (out->n_possible < out->n_rows && out->rows[out->n_possible].possible) out->n_possible++;
    explain(c);
    find_turn(c);
}

int st_choose(st_choice *out, const st_costs *costs, const st_workload *workload, enum st_goal goal, uint64_t seed,
              const atomic_bool *cancel, stretto_error *err) {
    *out = (st_choice){.goal = goal, .workload = *workload, .seed = seed};
    if (workload->streams == 0 || workload->streams > ST_PLAN_STREAMS_MAX || workload->prompt == 0 ||
        workload->generate == 0)
        return st_fail(err, STRETTO_E_USAGE, "a plan wants 1 to %d streams, a prompt and something to generate",
                       ST_PLAN_STREAMS_MAX);
    chooser c = {.costs = costs, .workload = workload, .out = out, .seed = seed, .cancel = cancel, .err = err};
    c.sets = calloc(SETS_MAX, sizeof *c.sets);
    if (!c.sets) return st_fail_memory(err, "the sets of units", SETS_MAX * sizeof *c.sets);
    add_rows(&c);
    free(c.sets);
    if (!c.code) decide(&c);
    if (!c.code && cancel && atomic_load_explicit(cancel, memory_order_relaxed))
        c.code = st_fail(err, STRETTO_E_STOPPED, "interrupted while choosing a schedule");
    if (c.code) st_choice_free(out);
    return c.code;
}

int st_choose_again(st_choice *choice, const st_costs *costs, stretto_error *err) {
    chooser c = {.costs = costs, .workload = &choice->workload, .out = choice, .seed = choice->seed, .err = err};
    for (size_t i = 0; i < choice->n_possible && !c.code; i++) predict(&c, &choice->rows[i]);
    choice->reason[0] = choice->turn[0] = '\0';
    choice->turns = false;
    if (!c.code) decide(&c);
    return c.code;
}
