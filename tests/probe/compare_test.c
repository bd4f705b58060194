/* SPDX-License-Identifier: MIT
 * Two probes compared: made up, so that what changed is known. */
#include "probe/compare.h"

#include "base/mem.h"
#include "probe/estimate.h"
#include "probe/rig.h"

static const char *const names[2] = {"a.json", "b.json"};

typedef struct made_up {
    double a_ns, b_ns;
    double factor;                  /* the true one */
    double sigma, sigma_run;        /* of a round, and of a process */
    unsigned n_processes, n_rounds; /* of each process */
    const char *arrangement;
    uint64_t seed;
} made_up;

static uint64_t noisy(double ns, double sigma, st_rng *rng) {
    return (uint64_t)llround(ns * exp(sigma * st_rng_normal(rng)));
}

static void fill_rounds(st_probe_row *row, const made_up *m, unsigned process, st_rng *rng) {
    double run = exp(m->sigma_run * st_rng_normal(rng));
    for (unsigned i = 0; i < m->n_rounds; i++) {
        st_round *round = st_row_reserve(row);
        assert_non_null(round);
        double shorter = fmin(m->a_ns, m->b_ns);
        round->process = process;
        round->arms[ST_ARM_SOLO_A].wall_ns = noisy(m->a_ns, m->sigma, rng);
        round->arms[ST_ARM_SOLO_B].wall_ns = noisy(m->b_ns, m->sigma, rng);
        round->arms[ST_ARM_SERIAL].wall_ns = noisy(m->a_ns + m->b_ns, m->sigma, rng);
        round->arms[ST_ARM_PARALLEL].wall_ns = noisy((m->a_ns + m->b_ns - m->factor * shorter) * run, m->sigma, rng);
        for (unsigned side = 0; side < 2; side++)
            round->arms[ST_ARM_PARALLEL].end_ns[side] = round->arms[ST_ARM_PARALLEL].wall_ns;
        row->n_rounds++;
    }
}

static void record_make(st_probe_record *record, const made_up *m) {
    *record = (st_probe_record){.n_processes = m->n_processes, .n_rows = 1, .cache = ST_CACHE_STEP};
    strcpy(record->title, "a model");
    record->rows = st_alloc(1, sizeof *record->rows);
    st_probe_row *row = record->rows;
    row->arrangement = st_arrangement_find(m->arrangement ? m->arrangement : "two-units", NULL);
    strcpy(row->name[0], "1");
    strcpy(row->name[1], "3");
    row->arms = st_pair_arms(false);
    st_rng rng;
    st_rng_seed(&rng, m->seed);
    for (unsigned i = 0; i < m->n_processes; i++) fill_rounds(row, m, i, &rng);
    st_estimate_options options = {.level = 0.95, .resamples = 200, .seed = 1};
    assert_int_equal(st_estimate_row(row, &options, NULL), 0);
}

static void compare_open(st_compare *out, st_probe_record record[2], const made_up *before, const made_up *after) {
    record_make(&record[0], before);
    record_make(&record[1], after);
    assert_int_equal(st_compare_records(out, &record[0], &record[1], names, 1, NULL), 0);
}

static void compare_close(st_compare *compare, st_probe_record record[2]) {
    st_compare_free(compare);
    st_probe_record_free(&record[0]);
    st_probe_record_free(&record[1]);
}

static const made_up usual = {
    .a_ns = 1e6, .b_ns = 1.3e6, .factor = 0.8, .sigma = 0.02, .sigma_run = 0.01, .n_processes = 5, .n_rounds = 20};

static void a_change_is_found(void **state) {
    (void)state;
    made_up before = usual, after = usual;
    after.factor = 0.5;
    after.a_ns = 1.2e6;
    before.seed = 1;
    after.seed = 2;
    st_probe_record record[2];
    st_compare compare;
    compare_open(&compare, record, &before, &after);
    const st_compare_row *row = &compare.rows[0];
    assert_int_equal(compare.n_rows, 1);
    assert_true(compare.between_runs && row->measured);
    assert_int_equal(row->overlap, ST_CHANGE_LESS);
    assert_near(row->factor.value, -0.3, 0.06);
    assert_true(row->factor.lo < -0.3 && row->factor.hi > -0.3);
    assert_int_equal(row->time[ST_ARM_SOLO_A], ST_CHANGE_MORE);
    assert_true(row->times[ST_ARM_SOLO_A].lo < 1.2 && row->times[ST_ARM_SOLO_A].hi > 1.2);
    assert_int_equal(row->time[ST_ARM_SOLO_B], ST_CHANGE_NONE);
    assert_true(row->times[ST_ARM_QUEUED].value == 0);
    assert_false(row->verdict_changed);
    compare_close(&compare, record);
}

/* The same machine twice: whatever its runs differ by, it must seldom be called a change. */
static unsigned false_alarms(const made_up *m, unsigned times) {
    unsigned alarms = 0;
    for (unsigned i = 0; i < times; i++) {
        made_up before = *m, after = *m;
        before.seed = 2 * i + 1;
        after.seed = 2 * i + 2;
        st_probe_record record[2];
        st_compare compare;
        compare_open(&compare, record, &before, &after);
        alarms += compare.rows[0].overlap != ST_CHANGE_NONE;
        compare_close(&compare, record);
    }
    return alarms;
}

static void runs_that_differ_are_no_change(void **state) {
    (void)state;
    made_up m = usual;
    m.sigma_run = 0.05;
    m.n_rounds = 10;
    assert_true(false_alarms(&m, 100) <= 10); /* 5 of 100 are expected at 95 % */
    m.n_processes = 2;
    assert_true(false_alarms(&m, 50) <= 6);
}

static void without_processes_runs_that_differ_look_like_changes(void **state) {
    (void)state;
    made_up m = usual;
    m.sigma_run = 0.05;
    m.n_processes = 1;
    assert_true(false_alarms(&m, 30) > 15); /* which is why a comparison of single runs says that it cannot tell */
}

static void what_is_only_in_one_is_named(void **state) {
    (void)state;
    made_up before = usual, after = usual;
    after.arrangement = "async";
    st_probe_record record[2];
    st_compare compare;
    compare_open(&compare, record, &before, &after);
    assert_int_equal(compare.n_rows, 2);
    assert_true(compare.rows[0].side[0] && !compare.rows[0].side[1] && !compare.rows[0].measured);
    assert_true(!compare.rows[1].side[0] && compare.rows[1].side[1] && !compare.rows[1].measured);
    compare_close(&compare, record);
}

static void unlike_things_are_refused(void **state) {
    (void)state;
    st_probe_record record[2];
    st_compare compare;
    stretto_error err;
    record_make(&record[0], &usual);
    record_make(&record[1], &usual);
    strcpy(record[1].title, "another");
    assert_int_equal(st_compare_records(&compare, &record[0], &record[1], names, 1, &err), STRETTO_E_INPUT);
    st_compare_free(&compare);
    static const char *const words[] = {"a.json", "b.json", "a model", "another"};
    for (unsigned i = 0; i < 4; i++) assert_non_null(strstr(err.text, words[i]));
    strcpy(record[1].title, "a model");
    record[1].cache = ST_CACHE_WARM;
    assert_int_equal(st_compare_records(&compare, &record[0], &record[1], names, 1, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "step, the other warm"));
    compare_close(&compare, record);
}

static void the_verdict_may_change(void **state) {
    (void)state;
    made_up before = usual, after = usual;
    st_probe_record record[2];
    st_compare compare;
    record_make(&record[0], &before);
    record_make(&record[1], &after);
    record[0].rows[0].verdict = ST_OVERLAP_OVERLAPS;
    record[1].rows[0].verdict = ST_OVERLAP_UNDECIDED;
    assert_int_equal(st_compare_records(&compare, &record[0], &record[1], names, 1, NULL), 0);
    assert_true(compare.rows[0].verdict_changed);
    assert_int_equal(compare.rows[0].overlap, ST_CHANGE_NONE);
    assert_true(compare.rows[0].factor.value == 0); /* the same seed made the same rounds */
    compare_close(&compare, record);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_found),
        cmocka_unit_test(runs_that_differ_are_no_change),
        cmocka_unit_test(without_processes_runs_that_differ_look_like_changes),
        cmocka_unit_test(what_is_only_in_one_is_named),
        cmocka_unit_test(unlike_things_are_refused),
        cmocka_unit_test(the_verdict_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
