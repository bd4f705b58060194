/* SPDX-License-Identifier: MIT
 * What must hold of any schedule, on random tables; and how long a large one takes. */
#include "base/rng.h"
#include "plan/candidates.h"
#include "plan/simulate.h"
#include "support.h"
#include "support/cpu_time.h"

#include <stdlib.h>

#define ROUNDS 300
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define LIMIT_NS 20e9 /* what watches every access takes its time */
#else
#define LIMIT_NS 1e9
#endif

static double between(st_rng *rng, double least, double most) {
    return least + (most - least) * st_rng_unit(rng);
}

/* A table of random costs, with contention. */
static void random_table(st_costs *costs, st_rng *rng) {
    uint32_t n_chunks = 1 + (uint32_t)st_rng_below(rng, 6), n_units = 1 + (uint32_t)st_rng_below(rng, 4);
    double ns[6 * 4];
    for (unsigned i = 0; i < 6 * 4; i++) ns[i] = between(rng, 10, 100);
    table_make(costs, n_chunks, n_units, ns);
    for (uint32_t x = 0; x < n_units; x++) {
        for (uint32_t y = 0; y < n_units; y++) {
            costs->transfers[x * n_units + y] = (st_cost_transfer){between(rng, 0, 20), between(rng, 0, 1), 1};
            for (unsigned w = 0; w < 4; w++) *st_cost_unit_slowdown(costs, x, w / 2, y, w % 2) = between(rng, 1, 2.5);
        }
    }
    costs->host = (st_cost_host){between(rng, 0, 10), between(rng, 0, 10), 0};
    costs->acceptance[ST_DRAFT_LOOKUP] = 0.6;
}

/* Neighbouring chunks on units, so that every call passes each unit once. */
static st_schedule random_schedule(const st_costs *costs, st_rng *rng) {
    uint32_t units[4] = {0, 1, 2, 3};
    st_schedule s;
    uint32_t n = costs->n_units < costs->n_chunks ? costs->n_units : costs->n_chunks;
    switch (st_rng_below(rng, 4)) {
    case 0:
        st_candidate_batched(&s, costs, 0, 1 + (uint32_t)st_rng_below(rng, 6));
        break;
    case 1:
        st_candidate_replicas(&s, costs, units, costs->n_units, costs->n_units + (uint32_t)st_rng_below(rng, 4));
        if (costs->n_units == 1) st_candidate_one(&s, costs, 0);
        break;
    default:
        assert_true(
            st_candidate_split(&s, costs, units, n, (st_candidate_call){ST_WORK_DECODE, 1}, ST_CANDIDATE_ANY_ROOM));
        if (n == 1) st_candidate_one(&s, costs, 0);
        if (n == 1) break;
        st_candidate_stage(&s, 2 + (uint32_t)st_rng_below(rng, 6), 1);
        if (st_rng_below(rng, 2)) s.batch = 1 + (uint32_t)st_rng_below(rng, s.streams);
    }
    s.pipelined = st_rng_below(rng, 2);
    s.host_beside = st_rng_below(rng, 2);
    s.micro_batch = 1 + (uint32_t)st_rng_below(rng, 8);
    if (s.batch == 1 && !s.host_beside && st_rng_below(rng, 2)) {
        s.draft = ST_DRAFT_LOOKUP;
        s.longest_draft = 1 + (uint32_t)st_rng_below(rng, 4);
    }
    return s;
}

#define POSITIONS 3

/* Whether unit u can have chunk c too, beside such of *bytes. */
static bool can_have(const st_costs *costs, uint32_t u, uint32_t c, uint64_t *bytes) {
    *bytes += costs->chunks[c].weight_bytes + POSITIONS * costs->chunks[c].kv_bytes;
    return st_costs_curve(costs, c, u, ST_WORK_DECODE)->n > 0 &&
           (costs->units[u].memory == ST_COST_NONE || *bytes <= costs->memories[costs->units[u].memory].bytes);
}

/* The longest stage of chunks from `first` on, on units of which those of `used` have their chunks, tried out: any
 * order, any cuts, a chunk for each. */
static double shortest(const st_costs *costs, uint32_t first, unsigned used) {
    double best = used + 1 == 1u << costs->n_units && first == costs->n_chunks ? 0 : INFINITY;
    for (uint32_t u = 0; u < costs->n_units; u++) {
        if (used >> u & 1) continue;
        double stage = 0;
        uint64_t bytes = 0;
        for (uint32_t c = first; c < costs->n_chunks && can_have(costs, u, c, &bytes); c++) {
            stage += st_cost_ns(costs, c, u, ST_WORK_DECODE, 1) + costs->units[u].dispatch_ns;
            best = fmin(best, fmax(stage, shortest(costs, c + 1, used | 1u << u)));
        }
    }
    return best;
}

/* The least that all stages take together where none takes longer than `most`, tried out in the same way. */
static double least_sum(const st_costs *costs, uint32_t first, unsigned used, double most) {
    double best = used + 1 == 1u << costs->n_units && first == costs->n_chunks ? 0 : INFINITY;
    for (uint32_t u = 0; u < costs->n_units; u++) {
        if (used >> u & 1) continue;
        double stage = 0;
        uint64_t bytes = 0;
        for (uint32_t c = first; c < costs->n_chunks && can_have(costs, u, c, &bytes); c++) {
            stage += st_cost_ns(costs, c, u, ST_WORK_DECODE, 1) + costs->units[u].dispatch_ns;
            if (stage <= most) best = fmin(best, stage + least_sum(costs, c + 1, used | 1u << u, most));
        }
    }
    return best;
}

static double sum_of(const st_costs *costs, const st_schedule *s) {
    double sum = 0;
    for (uint32_t c = 0; c < s->n_chunks; c++) {
        uint32_t u = st_costs_unit(costs, s->units[s->chunks[c].unit]);
        sum += st_cost_ns(costs, c, u, ST_WORK_DECODE, 1) + costs->units[u].dispatch_ns;
    }
    return sum;
}

static double longest_of(const st_costs *costs, const st_schedule *s) {
    double stage[ST_PLAN_UNITS_MAX] = {0}, longest = 0;
    uint64_t bytes[ST_PLAN_UNITS_MAX] = {0};
    assert_int_equal(st_schedule_stages(s), costs->n_units);
    for (uint32_t c = 0; c < s->n_chunks; c++) {
        uint32_t u = st_costs_unit(costs, s->units[s->chunks[c].unit]);
        assert_true(can_have(costs, u, c, &bytes[u]));
        stage[u] += st_cost_ns(costs, c, u, ST_WORK_DECODE, 1) + costs->units[u].dispatch_ns;
        longest = fmax(longest, stage[u]);
    }
    return longest;
}

/* Chunks of some bytes; one unit in two has a memory of its own, for one to all of them. */
static void random_memories(st_costs *costs, st_rng *rng) {
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        costs->chunks[c].weight_bytes = 10 + st_rng_below(rng, 20);
        costs->chunks[c].kv_bytes = st_rng_below(rng, 5);
    }
    for (uint32_t u = 0; u < costs->n_units; u++) {
        if (st_rng_below(rng, 2)) continue;
        snprintf(costs->memories[costs->n_memories].name, ST_PLAN_NAME, "of%u", u);
        costs->memories[costs->n_memories].bytes = 40 + st_rng_below(rng, 30 * costs->n_chunks);
        costs->units[u].memory = costs->n_memories++;
    }
}

/* In its longest stage, or, where that is the same, in all of them; and no unit has more than it has room for. */
static void no_cut_is_better(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 23);
    unsigned n_good = 0, n_none = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        st_costs costs;
        st_schedule s;
        uint32_t units[] = {0, 1, 2, 3};
        random_table(&costs, &rng);
        random_memories(&costs, &rng);
        for (uint32_t u = 0; u < costs.n_units; u++) {
            costs.units[u].dispatch_ns = between(&rng, 0, 20);
            for (uint32_t c = 0; c < costs.n_chunks; c++)
                if (st_rng_below(&rng, 5) == 0) st_costs_curve(&costs, c, u, ST_WORK_DECODE)->n = 0;
        }
        double least = shortest(&costs, 0, 0);
        bool good =
            st_candidate_cut(&s, &costs, units, costs.n_units, (st_candidate_call){ST_WORK_DECODE, 1}, POSITIONS);
        assert_int_equal(good, least < INFINITY);
        if (good) {
            double sum = least_sum(&costs, 0, 0, least * (1 + 1e-9));
            assert_true(fabs(longest_of(&costs, &s) - least) <= 1e-9 * least);
            assert_true(fabs(sum_of(&costs, &s) - sum) <= 1e-9 * sum);
        }
        n_good += good;
        n_none += !good;
        st_costs_free(&costs);
    }
    assert_true(n_good > ROUNDS / 4 && n_none > ROUNDS / 10);
}

static st_sim_result run(const st_costs *costs, const st_schedule *s, const st_workload *workload, double slowdown) {
    st_sim_options options = {.slowdown = slowdown, .seed = 7, .record = true};
    st_sim_result out;
    stretto_error err = {0};
    if (st_simulate(&out, costs, s, workload, &options, &err)) fail_msg("%s", err.text);
    return out;
}

/* The least time that a stream's own steps take, one after the other. */
static double chain_ns(const st_costs *costs, const st_schedule *s, const st_workload *workload) {
    st_workload one = *workload;
    one.streams = 1;
    st_schedule alone = *s;
    st_sim_result r = run(costs, &alone, &one, 1);
    double end = r.end_ns;
    st_sim_result_free(&r);
    return end;
}

/* Whether contention changes when calls run, and not which there are: where a stream goes to the unit that is free
 * first, or a call waits for several others, another order may be worse [Graham 1969]; and drafts are drawn in the
 * order in which they are verified. */
static bool calls_are_fixed(const st_schedule *s, const st_workload *workload) {
    bool placed = s->kind != ST_SCHEDULE_REPLICAS || workload->streams <= s->streams;
    return placed && !(s->batch > 1 && s->host_beside) && s->draft == ST_DRAFT_NONE;
}

static void check_bounds(const st_costs *costs, const st_schedule *s, const st_workload *workload,
                         const st_sim_result *r, const st_sim_result *free_of) {
    bool fixed = calls_are_fixed(s, workload);
    for (uint32_t u = 0; u < s->n_units; u++) {
        if (fixed) assert_true(free_of->busy_ns[u] <= r->end_ns * (1 + 1e-9)); /* the unit's work at full speed */
        assert_true(r->utilisation[u] <= 1 + 1e-9);
    }
    if (fixed) assert_true(free_of->end_ns <= r->end_ns * (1 + 1e-9));
    if (s->draft == ST_DRAFT_NONE) assert_true(chain_ns(costs, s, workload) <= r->end_ns * (1 + 1e-9));
    double path = r->path.latency_ns;
    for (uint32_t u = 0; u <= s->n_units; u++) path += r->path.unit_ns[u];
    assert_true(fabs(path - r->end_ns) <= 1e-6 * r->end_ns);
}

static void bounds_hold_and_contention_never_helps(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 20);
    for (unsigned round = 0; round < ROUNDS; round++) {
        st_costs costs;
        random_table(&costs, &rng);
        st_schedule s = random_schedule(&costs, &rng);
        st_workload workload = {1 + (uint32_t)st_rng_below(&rng, 8), 1 + (uint32_t)st_rng_below(&rng, 20),
                                1 + (uint32_t)st_rng_below(&rng, 10)};
        st_sim_result r = run(&costs, &s, &workload, 0), again = run(&costs, &s, &workload, 0),
                      free_of = run(&costs, &s, &workload, 1);
        check_bounds(&costs, &s, &workload, &r, &free_of);
        assert_int_equal(r.n_events, again.n_events);
        for (size_t i = 0; i < r.n_events; i++) {
            assert_true(r.events[i].start_ns == again.events[i].start_ns &&
                        r.events[i].end_ns == again.events[i].end_ns);
            assert_int_equal(r.events[i].unit, again.events[i].unit);
            assert_int_equal(r.events[i].stream, again.events[i].stream);
        }
        st_sim_result_free(&r);
        st_sim_result_free(&again);
        st_sim_result_free(&free_of);
        st_costs_free(&costs);
    }
}

/* No unit runs two things at once, no stream is in two places, and every cause has ended. */
static void events_do_not_overlap(void **state) {
    (void)state;
    st_rng rng;
    st_rng_seed(&rng, 21);
    for (unsigned round = 0; round < ROUNDS / 3; round++) {
        st_costs costs;
        random_table(&costs, &rng);
        st_schedule s = random_schedule(&costs, &rng);
        st_workload workload = {1 + (uint32_t)st_rng_below(&rng, 8), 1 + (uint32_t)st_rng_below(&rng, 20), 5};
        st_sim_result r = run(&costs, &s, &workload, 0);
        double free_at[ST_PLAN_UNITS_MAX + 1] = {0};
        for (size_t i = 0; i < r.n_events; i++) {
            const st_sim_event *e = &r.events[i];
            assert_true(e->start_ns >= free_at[e->unit]);
            assert_true(e->end_ns >= e->start_ns);
            free_at[e->unit] = e->end_ns;
            if (e->cause != ST_SIM_NONE) assert_true(r.events[e->cause].end_ns <= e->start_ns);
        }
        for (uint32_t i = 0; i < r.n_streams; i++) assert_int_equal(r.streams[i].tokens, workload.generate);
        st_sim_result_free(&r);
        st_costs_free(&costs);
    }
}

/* A slowdown of two chunks that says what their units' does changes nothing. */
static void slowdowns_of_chunks_are_those_of_their_units(void **state) {
    (void)state;
    st_rng rng;
    stretto_error err = {0};
    st_rng_seed(&rng, 22);
    for (unsigned round = 0; round < ROUNDS; round++) {
        st_costs costs;
        random_table(&costs, &rng);
        st_schedule s = random_schedule(&costs, &rng);
        st_workload workload = {1 + (uint32_t)st_rng_below(&rng, 8), 1 + (uint32_t)st_rng_below(&rng, 20), 5};
        float same = 1.5f; /* as exact in a float as in a double */
        uint32_t last = costs.n_units - 1;
        *st_cost_unit_slowdown(&costs, 0, ST_WORK_DECODE, last, ST_WORK_DECODE) = (double)same;
        st_sim_result r = run(&costs, &s, &workload, 0);
        assert_int_equal(
            st_cost_set_slowdown(&costs, 0, 0, ST_WORK_DECODE, last, 0, ST_WORK_DECODE, (double)same, &err), 0);
        st_sim_result by_chunk = run(&costs, &s, &workload, 0);
        assert_int_equal(r.n_steps, by_chunk.n_steps);
        assert_true(fabs(r.end_ns - by_chunk.end_ns) <= 1e-9 * r.end_ns);
        for (uint32_t u = 0; u <= s.n_units; u++)
            assert_true(fabs(r.busy_ns[u] - by_chunk.busy_ns[u]) <= 1e-9 * r.end_ns);
        assert_true(fabs(r.beside_ns - by_chunk.beside_ns) <= 1e-9 * r.end_ns);
        st_sim_result_free(&r);
        st_sim_result_free(&by_chunk);
        st_costs_free(&costs);
    }
}

/* 64 chunks on 16 units, every pair of chunks with a slowdown of its own. */
static double large_ns(uint32_t streams, uint64_t *n_steps) {
    static double ns[64 * 16];
    uint32_t units[16];
    st_costs costs;
    stretto_error err;
    for (unsigned i = 0; i < 64 * 16; i++) ns[i] = 100 + i % 7;
    table_make(&costs, 64, 16, ns);
    table_slow(&costs, 1.02);
    for (uint32_t x = 0; x < 16; x++) {
        units[x] = x;
        for (uint32_t y = 0; y < 16; y++)
            assert_int_equal(st_cost_set_slowdown(&costs, x, x, ST_WORK_DECODE, y, y, ST_WORK_DECODE, 1.03, &err), 0);
    }
    st_schedule s;
    assert_true(
        st_candidate_split(&s, &costs, units, 16, (st_candidate_call){ST_WORK_DECODE, 1}, ST_CANDIDATE_ANY_ROOM));
    st_candidate_stage(&s, streams, 1);
    s.micro_batch = 64;
    st_workload workload = {streams, 64, 16};
    uint64_t start = thread_cpu_ns();
    st_sim_result r = run(&costs, &s, &workload, 0);
    uint64_t end = thread_cpu_ns();
    *n_steps = r.n_steps;
    st_sim_result_free(&r);
    st_costs_free(&costs);
    return (double)(end - start);
}

static void a_large_schedule_takes_less_than_a_second(void **state) {
    (void)state;
    uint64_t steps, fewer;
    double all = large_ns(256, &steps), part = large_ns(64, &fewer);
    print_message("%.3f s for %llu events, %.3f s for %llu\n", all / 1e9, (unsigned long long)steps, part / 1e9,
                  (unsigned long long)fewer);
    assert_int_equal(steps, 256 * 16 * (64 + 1));
    assert_int_equal(fewer, steps / 4);
    assert_true(all < LIMIT_NS);
    assert_true(all < 3 * 4 * part); /* about linear in events */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_and_contention_never_helps),
        cmocka_unit_test(events_do_not_overlap),
        cmocka_unit_test(no_cut_is_better),
        cmocka_unit_test(slowdowns_of_chunks_are_those_of_their_units),
        cmocka_unit_test(a_large_schedule_takes_less_than_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
