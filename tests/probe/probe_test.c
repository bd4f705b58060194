/* SPDX-License-Identifier: MIT
 * How a probe goes: its numbers on exact devices, its rounds, when it stops, what it keeps. */
#include "rig.h"

#include <stdio.h>

static const st_mock_unit_options fifo = {.name = "mock:0"};
static const st_mock_unit_options two[2] = {{.name = "mock:0"}, {.name = "mock:1"}};

static void a_fifo_device_gives_nothing(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){0}, &fifo, 1, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    st_probe_row *row = rig_run(&r);
    assert_int_equal(r.code, 0);
    assert_int_equal(row->n_rounds, 10);
    assert_int_equal(row->stop, ST_STOP_PRECISION);
    assert_true(row->median_ns[ST_ARM_SOLO_A] == 5 * MS && row->median_ns[ST_ARM_SOLO_B] == 7 * MS);
    assert_true(row->median_ns[ST_ARM_SERIAL] == 12 * MS && row->median_ns[ST_ARM_PARALLEL] == 12 * MS);
    assert_true(row->overlap.lo == 0 && row->overlap.value == 0 && row->overlap.hi == 0);
    assert_true(row->overlap_unit.value == 0 && row->overlap_serial.value == 0 && row->speedup.value == 1);
    assert_true(row->slowdown[0] == 1);
    assert_near(row->slowdown[1], 12.0 / 7, 1e-9);
    assert_int_equal(row->reference, 0);
    assert_int_equal(row->verdict, ST_OVERLAP_SERIALISES);
    rig_close(&r);
}

/* The dispatches of the two overlap, so they look like an overlap of 0.3 / 1.3; one queue hides as much. */
static void a_dispatch_latency_is_not_the_units_overlap(void **state) {
    (void)state;
    rig r;
    const st_mock_unit_options slow = {.name = "mock:0", .latency_ns = 3 * MS};
    rig_open(&r, (st_mock_options){0}, &slow, 1, (rig_pair){.a_ns = 10 * MS, .b_ns = 10 * MS});
    st_probe_row *row = rig_run(&r);
    assert_near(row->overlap.value, 0.23, 0.001);
    assert_near(row->overlap_serial.value, 0.23, 0.001);
    assert_true(row->overlap_unit.value == 0);
    assert_true(row->dispatch_ns == 3 * MS);
    assert_int_equal(row->verdict, ST_OVERLAP_SERIALISES);
    rig_close(&r);
}

static void independent_units_overlap_fully(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){0}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    st_probe_row *row = rig_run(&r);
    assert_true(row->overlap.lo == 1 && row->overlap.hi == 1);
    assert_near(row->speedup.value, 12.0 / 7, 1e-9);
    assert_true(row->slowdown[0] == 1 && row->slowdown[1] == 1);
    assert_int_equal(row->arms & 1u << ST_ARM_QUEUED, 0);
    assert_int_equal(row->verdict, ST_OVERLAP_OVERLAPS);
    rig_close(&r);
}

/* Wants of 0.9 and 0.6 bytes/ns where 1 is to be had: see the mock's own test. Tpar = 250 us. */
static void shared_bandwidth_gives_the_known_part(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.bytes_per_ns = 1}, two, 2,
             (rig_pair){.a_ns = 100000, .b_ns = 200000, .a_bytes = 90000, .b_bytes = 120000});
    st_probe_row *row = rig_run(&r);
    assert_true(row->overlap.value == 0.5);
    assert_true(row->slowdown[0] == 1.5 && row->slowdown[1] == 1.25);
    assert_near(st_row_parallel_rate(row), 210.0 / 250, 1e-9);
    assert_near(st_row_solo_rate(row, 1), 0.6, 1e-9);
    assert_int_equal(row->verdict, ST_OVERLAP_OVERLAPS);
    rig_close(&r);
}

static void a_time_sliced_device_gives_nothing(void **state) {
    (void)state;
    rig r;
    const st_mock_unit_options sliced = {.name = "mock:0", .kind = ST_MOCK_TIME_SLICED};
    rig_open(&r, (st_mock_options){0}, &sliced, 1, (rig_pair){.a_ns = 8 * MS, .b_ns = 5 * MS});
    st_probe_row *row = rig_run(&r);
    assert_true(row->overlap.value == 0 && row->overlap_unit.value == 0);
    assert_true(row->slowdown[1] == 2);
    assert_int_equal(row->reference, 1);
    assert_int_equal(row->verdict, ST_OVERLAP_SERIALISES);
    rig_close(&r);
}

static void every_round_has_every_arm_once_in_a_new_order(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.seed = 3, .sigma = 0.01}, &fifo, 1, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.setup.limits.rounds = 40;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->n_rounds, 40);
    assert_int_equal(row->stop, ST_STOP_ROUNDS);
    assert_true(row->level == 0.95);
    unsigned first[ST_ARM_COUNT] = {0};
    for (size_t i = 0; i < row->n_rounds; i++) {
        unsigned seen = 0;
        for (unsigned k = 0; k < row->n_arms; k++) seen |= 1u << row->rounds[i].order[k];
        assert_int_equal(seen, row->arms);
        first[row->rounds[i].order[0]]++;
        for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
            assert_int_equal(row->rounds[i].arms[arm].wall_ns > 0, row->arms >> arm & 1);
        if (i) assert_true(row->rounds[i].begin_ns > row->rounds[i - 1].begin_ns);
    }
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++)
        if (row->arms & 1u << arm) assert_in_range(first[arm], 2, 20);
    rig_close(&r);
}

static void the_same_seed_gives_the_same_record(void **state) {
    (void)state;
    st_interval got[3];
    uint64_t last[3];
    for (int i = 0; i < 3; i++) {
        rig r;
        rig_open(&r, (st_mock_options){.seed = 3, .sigma = 0.05}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
        r.setup.limits.rounds = 20;
        r.setup.seed = i == 2 ? 77 : 5;
        st_probe_row *row = rig_run(&r);
        got[i] = row->overlap;
        last[i] = row->rounds[19].arms[ST_ARM_PARALLEL].wall_ns;
        rig_close(&r);
    }
    assert_memory_equal(&got[0], &got[1], sizeof got[0]);
    assert_int_equal(last[0], last[1]);
    assert_memory_not_equal(&got[0], &got[2], sizeof got[0]);
}

static void it_stops_at_a_look_when_precise_enough(void **state) {
    (void)state;
    size_t stops[2];
    for (int i = 0; i < 2; i++) {
        rig r;
        rig_open(&r, (st_mock_options){.seed = 4, .sigma = 0.02}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
        if (i) r.setup.limits.precision = 0.02;
        st_probe_row *row = rig_run(&r);
        assert_int_equal(row->stop, ST_STOP_PRECISION);
        assert_true(row->level == 0.98);
        assert_true(row->overlap.hi - row->overlap.lo < (i ? 0.02 : 0.04));
        stops[i] = row->n_rounds;
        for (size_t look = 10; look != row->n_rounds; look *= 2) assert_true(look < row->n_rounds);
        rig_close(&r);
    }
    assert_true(stops[1] > stops[0]);
}

static void the_budget_ends_it_but_not_before_ten_rounds(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.seed = 4, .sigma = 0.2}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.jobs[1] = r.jobs[0];
    r.setup.n_jobs = 2;
    r.setup.limits.budget_ns = 4000ull * MS; /* a round takes about 31 ms */
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row[0].stop, ST_STOP_BUDGET);
    assert_in_range(row[0].n_rounds, 40, 65); /* half of it */
    assert_in_range(row[1].n_rounds, 40, 65);
    assert_in_range(r.record.duration_ns, 4000ull * MS, 4100ull * MS);
    st_probe_record_free(&r.record);
    r.setup.limits.budget_ns = 1;
    row = rig_run(&r);
    assert_int_equal(row[0].n_rounds, 10);
    assert_int_equal(row[1].n_rounds, 10);
    assert_int_equal(row[1].stop, ST_STOP_BUDGET);
    rig_close(&r);
}

/* Three rows of one budget: the device at the threshold is undecided for long, the others are decided at once. */
static void the_undecided_get_most_of_the_time(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.seed = 4, .sigma = 0.1, .bytes_per_ns = 1}, two, 2,
             (rig_pair){.a_ns = 5 * MS, .b_ns = 5 * MS, .a_bytes = 4750000, .b_bytes = 4750000});
    st_mock_work light[2] = {{.ns = 5 * MS}, {.ns = 7 * MS}};
    const st_step step[2] = {st_mock_step("light", &light[0], 0), st_mock_step("light", &light[1], 0)};
    const st_step *steps[2][2] = {{&step[0], &step[0]}, {&step[1], &step[1]}};
    const st_probe_side sides[4] = {
        r.sides[0], r.sides[1], {.name = "2", .steps = steps[0]}, {.name = "4", .steps = steps[1]}};
    for (unsigned i = 1; i < 3; i++) {
        r.jobs[i] = r.jobs[0];
        r.jobs[i].side[0] = 2;
        r.jobs[i].side[1] = 3;
    }
    r.setup.sides = sides;
    r.setup.n_sides = 4;
    r.setup.n_jobs = 3;
    r.setup.limits.budget_ns = 3500 * (uint64_t)MS; /* rounds of about 30 ms */
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row[0].verdict, ST_OVERLAP_UNDECIDED);
    assert_in_range(row[0].n_rounds, 50, 80);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(row[i].verdict, ST_OVERLAP_OVERLAPS);
        assert_int_equal(row[i].n_rounds, 20);
        assert_int_equal(row[i].stop, ST_STOP_BUDGET);
        /* in two turns, with the others' between them */
        assert_true(row[i].rounds[10].begin_ns - row[i].rounds[9].begin_ns > 300 * (uint64_t)MS);
        assert_true(row[i].rounds[9].begin_ns - row[i].rounds[8].begin_ns < 60 * (uint64_t)MS);
    }
    rig_close(&r);
}

static void outliers_are_flagged_and_kept(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.seed = 9, .sigma = 0.005, .outlier_share = 0.05, .outlier_factor = 4}, two, 2,
             (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.setup.limits.rounds = 100;
    st_probe_row *row = rig_run(&r);
    size_t flagged = 0, far = 0;
    for (size_t i = 0; i < row->n_rounds; i++) {
        const st_round *round = &row->rounds[i];
        flagged += (round->flags & ST_ROUND_OUTLIER) != 0;
        bool wild = round->arms[ST_ARM_SOLO_A].wall_ns > 10 * MS;
        far += wild;
        if (wild) assert_true(round->outliers & 1u << ST_ARM_SOLO_A);
    }
    assert_int_equal(row->n_rounds, 100);
    assert_in_range(far, 1, 15);
    assert_in_range(row->n_outliers, 10, 45);
    assert_int_equal(flagged, row->n_outliers);
    assert_near(row->overlap.value, 1, 0.01);
    assert_int_equal(row->verdict, ST_OVERLAP_OVERLAPS);
    rig_close(&r);
}

static void a_batched_call_is_set_against_single_ones(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){0}, &fifo, 1,
             (rig_pair){.a_ns = 5 * MS, .b_ns = 8 * MS, .a_bytes = 50 * MS, .b_bytes = 60 * MS});
    r.jobs[0].arrangement = st_arrangement_find("batch-4", NULL);
    st_probe_row *row = rig_run(&r);
    assert_int_equal(r.code, 0);
    assert_int_equal(row->k, 4);
    assert_string_equal(row->name[1], "");
    assert_false(row->one_unit);
    assert_int_equal(row->arms, 1u << ST_ARM_SOLO_A | 1u << ST_ARM_SERIAL | 1u << ST_ARM_BATCHED);
    assert_true(row->median_ns[ST_ARM_SOLO_A] == 5 * MS && row->median_ns[ST_ARM_SERIAL] == 20 * MS);
    assert_true(row->median_ns[ST_ARM_BATCHED] == 8 * MS);
    assert_near(row->overlap.value, (4 * 5 - 8) / (3 * 5.0), 1e-9);
    assert_near(row->overlap_serial.value, row->overlap.value, 1e-9);
    assert_true(row->speedup.value == 2.5);
    assert_int_equal(row->verdict, ST_OVERLAP_OVERLAPS);
    assert_near(st_row_solo_rate(row, 0), 10, 1e-9);
    assert_near(st_row_parallel_rate(row), 7.5, 1e-9);
    rig_close(&r);
}

static void the_cold_first_call_stands_apart(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){0}, &fifo, 1, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.work[0].cold_ns = 3500 * MS;
    r.jobs[1] = (st_probe_job){.arrangement = st_arrangement_find("async", NULL), .side = {0, 1}};
    r.setup.n_jobs = 2;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row[0].cold_ns[0], 3505 * (uint64_t)MS);
    assert_int_equal(row[0].cold_ns[1], 7 * MS);
    assert_true(row[0].spread[ST_ARM_SOLO_A] == 0);
    assert_int_equal(row[1].cold_ns[0], 0);
    assert_true(row[1].one_unit && row[1].overlap_unit.value == 0);
    rig_close(&r);
}

static void cancel_after(void *arg, const st_probe_progress *progress) {
    atomic_bool *cancel = arg;
    if (progress->job == 1 && progress->rounds == 12) atomic_store(cancel, true);
}

static void cancelling_keeps_the_rounds(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.seed = 1, .sigma = 0.01}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    atomic_bool cancel = false;
    for (int i = 1; i < 3; i++) r.jobs[i] = r.jobs[0];
    r.setup.n_jobs = 3;
    r.setup.limits.rounds = 30;
    r.setup.cancel = &cancel;
    r.setup.progress = cancel_after;
    r.setup.progress_arg = &cancel;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(r.code, STRETTO_E_STOPPED);
    assert_int_equal(row[0].n_rounds, 30);
    assert_int_equal(row[1].n_rounds, 12);
    assert_int_equal(row[1].stop, ST_STOP_CANCELLED);
    assert_near(row[1].overlap.value, 1, 0.02);
    assert_int_equal(row[1].verdict, ST_OVERLAP_OVERLAPS);
    assert_int_equal(row[2].n_rounds, 0);
    assert_int_equal(row[2].stop, ST_STOP_CANCELLED);
    assert_string_equal(row[2].evidence, "not measured: stopped on request");
    rig_close(&r);
}

static void a_dying_unit_ends_its_row_and_keeps_the_rounds(void **state) {
    (void)state;
    const st_mock_unit_options units[3] = {{.name = "mock:0", .dies_at = 80}, {.name = "mock:1"}, {.name = "mock:2"}};
    rig r;
    rig_open(&r, (st_mock_options){0}, units, 3, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.jobs[1] = r.jobs[0];
    r.jobs[2] = r.jobs[0];
    r.jobs[2].unit[0] = 2;
    r.setup.n_jobs = 3;
    r.setup.limits.rounds = 50;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(r.code, STRETTO_E_UNIT);
    assert_non_null(strstr(r.err.text, "1 || 3, two-units: unit mock:0 died while it ran step chunk 1"));
    assert_int_equal(row[0].stop, ST_STOP_ERROR);
    assert_in_range(row[0].n_rounds, 15, 30); /* 10 of warm-up, 1 cold, 3 a round */
    assert_true(row[0].overlap.value == 1);
    assert_int_equal(row[0].verdict, ST_OVERLAP_OVERLAPS);
    assert_int_equal(row[1].n_rounds, 0);
    assert_non_null(strstr(row[1].error.text, "unit mock:0 is gone"));
    assert_int_equal(row[2].n_rounds, 50);
    rig_close(&r);
}

typedef struct counter {
    unsigned calls;
    st_mock_machine *machine;
} counter;

static void count_evict(void *arg, const st_probe_job *job) {
    counter *c = arg;
    assert_int_equal(job->side[1], 1);
    c->calls++;
    st_mock_advance(c->machine, 2 * MS);
}

static void the_model_is_streamed_before_every_timed_arm(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){0}, &fifo, 1, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    counter count = {.machine = r.machine};
    r.setup.evict = count_evict;
    r.setup.evict_arg = &count;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(count.calls, 2 + row->n_warm_up + row->n_rounds * 5);
    assert_int_equal(r.record.cache, ST_CACHE_STEP);
    assert_true(row->median_ns[ST_ARM_SERIAL] == 12 * MS); /* not timed */
    rig_close(&r);
}

static void a_round_in_which_the_machine_slept_is_thrown_away(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.sleep_at_ns = 1000 * (uint64_t)MS, .sleep_ns = 60000 * (uint64_t)MS}, two, 2,
             (rig_pair){.a_ns = 50 * MS, .b_ns = 70 * MS});
    st_clock boot = st_mock_boot_clock(r.machine);
    r.setup.boot = &boot;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->n_discarded, 1);
    assert_int_equal(row->n_rounds, 10);
    assert_non_null(strstr(r.record.warnings.data, "the machine slept in 1 round, which was thrown away"));
    rig_close(&r);
}

static void skewed_rounds_are_flagged(void **state) {
    (void)state;
    const st_mock_unit_options units[2] = {{.name = "mock:0", .submit_ns = MS}, {.name = "mock:1"}};
    rig r;
    rig_open(&r, (st_mock_options){0}, units, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    st_probe_row *row = rig_run(&r);
    assert_true(row->skew_ns == MS);
    assert_int_equal(row->n_skewed, row->n_rounds);
    assert_true(row->rounds[3].flags & ST_ROUND_SKEW);
    assert_non_null(strstr(r.record.warnings.data, "started more than 5 % apart"));
    rig_close(&r);
}

static void what_never_becomes_steady_is_told(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.drift_per_s = 8}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.setup.limits.rounds = 10;
    st_probe_row *row = rig_run(&r);
    assert_true(row->flags & ST_ROW_NOT_STEADY);
    assert_int_equal(row->n_warm_up, 50);
    assert_non_null(strstr(r.record.warnings.data, "no steady state after 50 runs"));
    rig_close(&r);
}

static void a_wide_spread_has_no_verdict(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.seed = 6, .sigma = 0.7}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.setup.limits.rounds = 2000;
    st_probe_row *row = rig_run(&r);
    assert_true(row->overlap.lo > 0.1); /* the interval alone would have decided */
    assert_true(row->flags & ST_ROW_SPREAD);
    assert_int_equal(row->verdict, ST_OVERLAP_UNDECIDED);
    assert_int_equal(row->rounds_needed, ST_ROUNDS_NEVER);
    assert_non_null(strstr(r.record.warnings.data, "no verdict"));
    rig_close(&r);
}

static void fewer_than_ten_rounds_have_no_verdict(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){0}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.setup.limits.rounds = 4;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->n_rounds, 4);
    assert_int_equal(row->verdict, ST_OVERLAP_UNDECIDED);
    assert_int_equal(row->rounds_needed, 6);
    rig_close(&r);
}

static void a_job_that_cannot_be_measured_is_named(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){0}, &fifo, 1, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.jobs[1] = (st_probe_job){
        .arrangement = st_arrangement_find("two-units", NULL), .side = {0, 1}, .skip = "one core is allowed here"};
    r.setup.n_jobs = 2;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(r.code, 0);
    assert_int_equal(row[1].stop, ST_STOP_SKIPPED);
    assert_int_equal(row[1].verdict, ST_OVERLAP_UNDECIDED);
    assert_string_equal(row[1].error.text, "one core is allowed here");
    rig_close(&r);
}

static void jobs_that_make_no_sense_are_refused(void **state) {
    (void)state;
    static const struct {
        st_probe_job job;
        const char *says;
    } bad[] = {
        {{.side = {0, 2}, .unit = {0, 1}}, "side 2 is asked for, but there are 2"},
        {{.side = {0, 1}, .unit = {0, 7}}, "unit 7 is asked for, but there are 2"},
        {{.side = {1, 1}, .unit = {0, 1}}, "3 is on both sides"},
        {{.side = {0, 1}, .unit = {1, 1}}, "two-units wants two units, but 1 and 3 are on one"},
        {{.side = {1, 0}, .unit = {0, 1}}, "3 cannot run on mock:0"},
    };
    rig r;
    rig_open(&r, (st_mock_options){0}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    r.steps[1][0] = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        r.jobs[0] = bad[i].job;
        r.jobs[0].arrangement = st_arrangement_find("two-units", NULL);
        rig_run(&r);
        assert_int_equal(r.code, STRETTO_E_USAGE);
        assert_non_null(strstr(r.err.text, bad[i].says));
        st_probe_record_free(&r.record);
    }
    r.setup.n_jobs = 0;
    rig_run(&r);
    assert_int_equal(r.code, STRETTO_E_USAGE);
    assert_null(st_arrangement_find("sideways", &r.err));
    assert_non_null(strstr(r.err.text, "no arrangement sideways: there are one-unit, two-units,"));
    rig_close(&r);
}

static void keep_progress(void *arg, const st_probe_progress *progress) {
    st_probe_progress *last = arg;
    assert_true(progress->rounds >= last->rounds);
    if (progress->rounds == 12) assert_true(progress->looked && progress->factor.hi > progress->factor.lo);
    *last = *progress;
}

static void progress_says_how_far_it_is(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.seed = 4, .sigma = 0.03}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    st_probe_progress last = {0};
    r.setup.progress = keep_progress;
    r.setup.progress_arg = &last;
    r.setup.limits.budget_ns = 60000 * (uint64_t)MS;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(last.rounds, row->n_rounds);
    assert_int_equal(last.expected, row->n_rounds);
    assert_true(last.seconds_left > 50 && last.seconds_left < 60);
    rig_close(&r);
}

/* So noisy that the rule asks for thousands of rounds: there is time for some tens. */
static void progress_knows_the_time(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.seed = 4, .sigma = 0.5}, two, 2, (rig_pair){.a_ns = 5 * MS, .b_ns = 7 * MS});
    st_probe_progress last = {0};
    r.setup.progress = keep_progress;
    r.setup.progress_arg = &last;
    r.setup.limits.budget_ns = 3000 * (uint64_t)MS;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->stop, ST_STOP_BUDGET);
    assert_true(row->n_rounds > 12 && row->n_rounds < 200);
    assert_int_equal(last.expected, row->n_rounds);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fifo_device_gives_nothing),
        cmocka_unit_test(a_dispatch_latency_is_not_the_units_overlap),
        cmocka_unit_test(independent_units_overlap_fully),
        cmocka_unit_test(shared_bandwidth_gives_the_known_part),
        cmocka_unit_test(a_time_sliced_device_gives_nothing),
        cmocka_unit_test(every_round_has_every_arm_once_in_a_new_order),
        cmocka_unit_test(the_same_seed_gives_the_same_record),
        cmocka_unit_test(it_stops_at_a_look_when_precise_enough),
        cmocka_unit_test(the_budget_ends_it_but_not_before_ten_rounds),
        cmocka_unit_test(the_undecided_get_most_of_the_time),
        cmocka_unit_test(outliers_are_flagged_and_kept),
        cmocka_unit_test(a_batched_call_is_set_against_single_ones),
        cmocka_unit_test(the_cold_first_call_stands_apart),
        cmocka_unit_test(cancelling_keeps_the_rounds),
        cmocka_unit_test(a_dying_unit_ends_its_row_and_keeps_the_rounds),
        cmocka_unit_test(the_model_is_streamed_before_every_timed_arm),
        cmocka_unit_test(a_round_in_which_the_machine_slept_is_thrown_away),
        cmocka_unit_test(skewed_rounds_are_flagged),
        cmocka_unit_test(what_never_becomes_steady_is_told),
        cmocka_unit_test(a_wide_spread_has_no_verdict),
        cmocka_unit_test(fewer_than_ten_rounds_have_no_verdict),
        cmocka_unit_test(a_job_that_cannot_be_measured_is_named),
        cmocka_unit_test(jobs_that_make_no_sense_are_refused),
        cmocka_unit_test(progress_says_how_far_it_is),
        cmocka_unit_test(progress_knows_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
