/* SPDX-License-Identifier: MIT
 * Verdicts, and the numbers that they are made of: at their limits, and on devices with noise, drift, slow phases and
 * outliers, whose causes have to be found as well. */
#include "probe/rounds.h"
#include "probe/verdict.h"
#include "rig.h"

static const st_mock_unit_options two[2] = {{.name = "mock:0"}, {.name = "mock:1"}};

static void the_thresholds_are_those_of_the_method(void **state) {
    (void)state;
    static const struct {
        st_interval factor;
        double dispatch;
        enum st_overlap verdict;
    } cases[] = {
        {{-0.30, -0.35, -0.25}, 0.02, ST_OVERLAP_INTERFERES},
        {{-0.03, -0.05, -0.01}, 0.02, ST_OVERLAP_SERIALISES}, /* within the cost of a dispatch */
        {{0.02, -0.01, 0.05}, 0, ST_OVERLAP_SERIALISES},
        {{0.05, 0.02, 0.0999}, 0, ST_OVERLAP_SERIALISES},
        {{0.05, 0.02, 0.10}, 0, ST_OVERLAP_UNDECIDED},
        {{0.12, 0.0999, 0.20}, 0, ST_OVERLAP_UNDECIDED},
        {{0.12, 0.10, 0.20}, 0, ST_OVERLAP_OVERLAPS},
        {{0.95, 0.90, 1.01}, 0, ST_OVERLAP_OVERLAPS},
        {{0.50, -0.50, 1.50}, 0, ST_OVERLAP_UNDECIDED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(st_overlap_judge(&cases[i].factor, cases[i].dispatch), cases[i].verdict);
}

static void rounds_needed_shrink_the_interval_to_the_threshold(void **state) {
    (void)state;
    /* From 0.05 to 0.10 is half of 0.10: four times the rounds, 30 more. */
    assert_int_equal(st_rounds_needed(&(st_interval){0.05, -0.05, 0.15}, 10), 30);
    assert_in_range(st_rounds_needed(&(st_interval){0.20, 0.05, 0.35}, 40), 50, 51); /* (0.15/0.10)^2 * 40 - 40 */
    assert_int_equal(st_rounds_needed(&(st_interval){0.05, 0.0, 0.0999}, 10), 0);
    assert_int_equal(st_rounds_needed(&(st_interval){0.10, 0.05, 0.15}, 10), ST_ROUNDS_NEVER);
    assert_int_equal(st_rounds_needed(&(st_interval){0.1001, 0.05, 0.15}, 10), ST_ROUNDS_NEVER);
    assert_int_equal(st_rounds_needed(&(st_interval){0.05, 0.0, 0.10}, 10), 1);
}

/* What asks for more turns than others. */
static void a_row_is_decided_when_verdict_and_cause_are(void **state) {
    (void)state;
    static const struct {
        st_interval overlap;
        bool known;
        st_interval margin;
        bool decided;
    } cases[] = {
        {{0.7, 0.6, 0.8}, false, {0, 0, 0}, true},
        {{0.2, 0.09, 0.3}, false, {0, 0, 0}, false},
        {{0.05, 0.01, 0.10}, false, {0, 0, 0}, false},
        {{0.05, 0.01, 0.09}, false, {0, 0, 0}, true},
        {{0.7, 0.6, 0.8}, true, {0.05, -0.01, 0.11}, false}, /* memory is half of it, more or less */
        {{0.7, 0.6, 0.8}, true, {0.05, 0.01, 0.11}, true},
        {{0.7, 0.6, 0.8}, true, {-0.05, -0.11, -0.01}, true},
        {{0.93, 0.88, 0.98}, true, {0.01, -0.01, 0.03}, true}, /* hardly anything to account for */
        {{0.2, 0.09, 0.3}, true, {0.3, 0.2, 0.4}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        st_probe_row row = {.overlap = cases[i].overlap,
                            .memory = {.known = cases[i].known, .margin = cases[i].margin}};
        const st_row_run run = {.row = &row, .looked = true}, blind = {.row = &row};
        assert_int_equal(st_row_is_decided(&run), cases[i].decided);
        assert_false(st_row_is_decided(&blind));
    }
}

static void completion_times_are_classified(void **state) {
    (void)state;
    const double solo[2] = {100, 150};
    static const struct {
        double end[2];
        enum st_class class_;
    } cases[] = {
        {{101, 148}, ST_CLASS_SOLO},   {{103, 245}, ST_CLASS_A_FIRST},   {{252, 149}, ST_CLASS_B_FIRST},
        {{205, 248}, ST_CLASS_SLICED}, {{130, 180}, ST_CLASS_STRETCHED}, {{200, 290}, ST_CLASS_WORSE},
        {{101, 200}, ST_CLASS_OTHER},  {{106, 151}, ST_CLASS_OTHER},     {{150, 245}, ST_CLASS_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(st_classify(cases[i].end, solo, 250, 0), cases[i].class_);
    const double alike[2] = {100, 100}, sliced_end[2] = {199, 201}, fifo_end[2] = {100, 200};
    assert_int_equal(st_classify(sliced_end, alike, 200, 0), ST_CLASS_SLICED);
    assert_int_equal(st_classify(fifo_end, alike, 200, 0), ST_CLASS_A_FIRST);
    const double rough[2] = {110, 222}, slow[2] = {110, 165};
    assert_int_equal(st_classify(rough, solo, 250, 0), ST_CLASS_STRETCHED);
    assert_int_equal(st_classify(rough, solo, 250, 0.12), ST_CLASS_A_FIRST);
    assert_int_equal(st_classify(slow, solo, 250, 0.12), ST_CLASS_STRETCHED); /* not at their solo times */
}

/* A machine and its two units, and what is to be found out about them. */
typedef struct world {
    const char *name;
    st_mock_options machine; /* without its noise */
    st_mock_unit_options units[2];
    unsigned n_units;
    bool chilled; /* caches are cold before each arm */
    double factor;
    enum st_overlap verdict;
    enum st_cause cause;
    double reading; /* share of each step that reads; 0: all of it */
} world;

static const unsigned core_0[] = {0}, both_cores[] = {0, 1};

static const world worlds[] = {
    {"fifo", {0}, {{.name = "m:0"}}, 1, false, 0, ST_OVERLAP_SERIALISES, ST_CAUSE_FIFO, 0},
    {"sliced",
     {0},
     {{.name = "m:0", .kind = ST_MOCK_TIME_SLICED}},
     1,
     false,
     0,
     ST_OVERLAP_SERIALISES,
     ST_CAUSE_TIME_SLICED,
     0},
    {"independent",
     {0},
     {{.name = "m:0"}, {.name = "m:1"}},
     2,
     false,
     1,
     ST_OVERLAP_OVERLAPS,
     ST_CAUSE_TRUE_OVERLAP,
     0},
    /* wants of 0.9 and 0.6 where 1 is to be had */
    {"bandwidth",
     {.bytes_per_ns = 1},
     {{.name = "m:0"}, {.name = "m:1"}},
     2,
     false,
     0.5,
     ST_OVERLAP_OVERLAPS,
     ST_CAUSE_BANDWIDTH,
     0},
    /* 0.9 while they read, for three fifths of the time */
    {"bandwidth in turns",
     {.bytes_per_ns = 1},
     {{.name = "m:0"}, {.name = "m:1"}},
     2,
     false,
     0.715,
     ST_OVERLAP_OVERLAPS,
     ST_CAUSE_BANDWIDTH,
     0.6},
    {"oversubscribed",
     {.oversubscribed = 0.2},
     {{.name = "m:0", .cores = both_cores, .n_cores = 2}, {.name = "m:1", .cores = both_cores, .n_cores = 2}},
     2,
     false,
     -0.4,
     ST_OVERLAP_INTERFERES,
     ST_CAUSE_OVERSUBSCRIPTION,
     0},
    {"one core",
     {0},
     {{.name = "m:0", .cores = core_0, .n_cores = 1}, {.name = "m:1", .cores = core_0, .n_cores = 1}},
     2,
     false,
     0,
     ST_OVERLAP_SERIALISES,
     ST_CAUSE_ONE_CORE,
     0},
    {"cache",
     {.cold = 0.5},
     {{.name = "m:0"}, {.name = "m:1"}},
     2,
     true,
     0.5,
     ST_OVERLAP_OVERLAPS,
     ST_CAUSE_SHARED_CACHE,
     0},
    {"clock",
     {.together = 0.5},
     {{.name = "m:0"}, {.name = "m:1"}},
     2,
     false,
     0.5,
     ST_OVERLAP_OVERLAPS,
     ST_CAUSE_CLOCK,
     0},
};

/* Noise, outliers, slow phases and drift. Steps that take longer want less bandwidth, which then slows them less: where
 * that is what matters they stay small. */
static st_mock_options roughened(const world *w, uint64_t seed) {
    st_mock_options machine = w->machine;
    bool shared = machine.bytes_per_ns > 0;
    machine.seed = seed;
    machine.sigma = 0.01;
    machine.outlier_share = 0.03;
    machine.outlier_factor = 2;
    machine.wave = shared ? 0.005 : 0.03;
    machine.wave_ns = 300 * MS;
    machine.drift_per_s = shared ? 0.001 : 0.005;
    return machine;
}

static bool world_is_seen(const world *w, uint64_t seed, bool *covered) {
    static st_core cores[2] = {{.cpu = 0, .core = 0}, {.cpu = 1, .core = 1}};
    static const st_host host = {.cores = cores, .n_cores = 2, .max_threads = 2};
    rig r;
    bool reads = w->machine.bytes_per_ns > 0;
    rig_open(&r, roughened(w, seed), w->units, w->n_units,
             (rig_pair){.a_ns = 10 * MS,
                        .b_ns = 20 * MS,
                        .a_bytes = w->reading > 0 ? 54 * MS / 10
                                   : reads        ? 9 * MS
                                                  : MS / 10,
                        .b_bytes = w->reading > 0 ? 108 * MS / 10
                                   : reads        ? 12 * MS
                                                  : MS / 10});
    if (w->reading > 0) rig_read_in_turns(&r, w->reading);
    rig_controls(&r, 0.9);
    r.setup.seed = seed;
    r.setup.host = &host;
    if (w->chilled) rig_chill(&r);
    st_probe_row *row = rig_run(&r);
    bool seen = row->verdict == w->verdict && row->cause == w->cause;
    *covered = row->overlap.lo - 0.015 <= w->factor && w->factor <= row->overlap.hi + 0.015;
    rig_close(&r);
    return seen;
}

static void noise_changes_no_verdict_and_no_cause(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        unsigned right = 0, held = 0;
        for (uint64_t seed = 1; seed <= 40; seed++) {
            bool covered;
            right += world_is_seen(&worlds[i], seed, &covered);
            held += covered;
        }
        if (right < 38 || held < 36)
            fail_msg("%s: verdict and cause right in %u, factor in the interval in %u of 40", worlds[i].name, right,
                     held);
    }
}

/* A device whose true factor lies at the threshold: each probe is undecided exactly when its interval holds it. */
static void undecided_exactly_when_the_interval_holds_the_threshold(void **state) {
    (void)state;
    unsigned undecided = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rig r;
        /* Wants of 0.95 each of 1.0 to be had: Tpar = 1.9, factor 0.1. */
        rig_open(&r, (st_mock_options){.seed = seed, .sigma = 0.02, .bytes_per_ns = 1}, two, 2,
                 (rig_pair){.a_ns = 10 * MS, .b_ns = 10 * MS, .a_bytes = 9500000, .b_bytes = 9500000});
        r.setup.seed = seed;
        r.setup.limits.rounds = 20;
        st_probe_row *row = rig_run(&r);
        bool holds = row->overlap.lo < ST_OVERLAP_THRESHOLD && row->overlap.hi >= ST_OVERLAP_THRESHOLD;
        assert_int_equal(row->verdict == ST_OVERLAP_UNDECIDED, holds);
        assert_int_equal(row->rounds_needed > 0, holds);
        undecided += holds;
        rig_close(&r);
    }
    assert_in_range(undecided, 30, 59);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thresholds_are_those_of_the_method),
        cmocka_unit_test(rounds_needed_shrink_the_interval_to_the_threshold),
        cmocka_unit_test(a_row_is_decided_when_verdict_and_cause_are),
        cmocka_unit_test(completion_times_are_classified),
        cmocka_unit_test(noise_changes_no_verdict_and_no_cause),
        cmocka_unit_test(undecided_exactly_when_the_interval_holds_the_threshold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
