/* SPDX-License-Identifier: MIT
 * Causes: of exact devices, and of made-up numbers. */
#include "probe/rounds.h"
#include "probe/verdict.h"
#include "rig.h"
#include "stretto/probe.h"

static const st_mock_unit_options fifo = {.name = "mock:0"};
static const st_mock_unit_options sliced = {.name = "mock:0", .kind = ST_MOCK_TIME_SLICED};
static const st_mock_unit_options two[2] = {{.name = "mock:0"}, {.name = "mock:1"}};

static void exact_devices_have_their_causes(void **state) {
    (void)state;
    static const st_mock_unit_options slow = {.name = "mock:0", .latency_ns = 3 * MS};
    static const st_mock_unit_options wide = {.name = "mock:0", .engines = 2};
    static const struct {
        const st_mock_unit_options *units;
        unsigned n_units;
        enum st_cause cause;
        const char *evidence;
    } cases[] = {
        {&fifo, 1, ST_CAUSE_FIFO, "3 ends when 1 + 3 would, 1 at its solo time, in 100 % of rounds"},
        {&sliced, 1, ST_CAUSE_TIME_SLICED, "1 ends at twice its solo time"},
        {&slow, 1, ST_CAUSE_QUEUEING, "against one queue 0.00: what overlaps is a dispatch of 3 ms"},
        {&wide, 1, ST_CAUSE_TRUE_OVERLAP, "both end at their solo times"},
        {two, 2, ST_CAUSE_TRUE_OVERLAP, "both end at their solo times in 100 % of rounds"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig r;
        rig_open(&r, (st_mock_options){0}, cases[i].units, cases[i].n_units,
                 (rig_pair){.a_ns = 10 * MS, .b_ns = 12 * MS});
        st_probe_row *row = rig_run(&r);
        assert_int_equal(row->cause, cases[i].cause);
        assert_non_null(strstr(row->evidence, cases[i].evidence));
        rig_close(&r);
    }
}

/* Times that vary by a tenth end at no pattern's times by 5 %. */
static void a_rough_queue_is_a_queue(void **state) {
    (void)state;
    static const enum st_cause causes[] = {ST_CAUSE_FIFO, ST_CAUSE_TIME_SLICED};
    for (int kind = 0; kind < 2; kind++) {
        unsigned found = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            rig r;
            rig_open(&r, (st_mock_options){.seed = seed, .sigma = 0.08}, kind ? &sliced : &fifo, 1,
                     (rig_pair){.a_ns = 10 * MS, .b_ns = 12 * MS});
            r.setup.limits.rounds = 60;
            st_probe_row *row = rig_run(&r);
            assert_in_range(row->class_tolerance * 1000, 60, 150);
            found += row->cause == causes[kind] && strstr(row->evidence, " % that these times vary by") != NULL;
            rig_close(&r);
        }
        assert_in_range(found, 19, 20);
    }
}

/* Few of such rounds end at the solo times by 5 %: that few do is no evidence of overlap. */
static void a_rough_overlap_is_told_by_its_medians(void **state) {
    (void)state;
    unsigned found = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rig r;
        rig_open(&r, (st_mock_options){.seed = seed, .sigma = 0.12}, two, 2,
                 (rig_pair){.a_ns = 10 * MS, .b_ns = 12 * MS});
        r.setup.limits.rounds = 100;
        st_probe_row *row = rig_run(&r);
        if (row->cause == ST_CAUSE_TRUE_OVERLAP) {
            assert_true(2 * row->classes[ST_CLASS_SOLO] < row->n_rounds);
            assert_null(strstr(row->evidence, "of rounds"));
            assert_non_null(strstr(row->evidence, "in the median 1 takes "));
            found++;
        }
        rig_close(&r);
    }
    assert_true(found > 0);
}

/* Both want all of the bandwidth: in shape that is a time-sliced engine, but the units' arithmetic runs side by side.
 */
static void a_memory_that_one_alone_exhausts_is_no_time_sliced_engine(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.bytes_per_ns = 1}, two, 2,
             (rig_pair){.a_ns = 100000, .b_ns = 200000, .a_bytes = 100000, .b_bytes = 200000});
    rig_controls(&r, 1);
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->classes[ST_CLASS_SLICED], row->n_rounds);
    assert_int_equal(row->verdict, ST_OVERLAP_SERIALISES);
    assert_int_equal(row->cause, ST_CAUSE_BANDWIDTH);
    rig_close(&r);
}

static void a_shared_cache_is_found_by_the_pair_when_warm(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.cold = 0.4}, two, 2,
             (rig_pair){.a_ns = 100000, .b_ns = 120000, .a_bytes = 10000, .b_bytes = 10000});
    rig_controls(&r, 0.9);
    rig_chill(&r);
    st_probe_row *row = rig_run(&r);
    assert_near(row->overlap.value, 0.6, 1e-9);
    assert_true(row->has_warm && row->warm.value == 1);
    assert_int_equal(row->cause, ST_CAUSE_SHARED_CACHE);
    assert_string_equal(row->evidence,
                        "both are stretched though they read 0.1 of 1.8 GB/s only; with caches warm the same "
                        "pair overlaps 1.00");
    rig_close(&r);
}

static void a_clock_that_drops_is_found(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.together = 0.25}, two, 2,
             (rig_pair){.a_ns = 100000, .b_ns = 120000, .a_bytes = 10000, .b_bytes = 10000});
    rig_controls(&r, 0.9);
    rig_chill(&r);
    st_probe_row *row = rig_run(&r);
    assert_near(row->overlap.value, 0.75, 1e-9);
    assert_int_equal(row->cause, ST_CAUSE_CLOCK);
    assert_string_equal(row->evidence,
                        "both are stretched, and so is arithmetic alone (1.25 and 1.25 times); the cores' "
                        "clock drops from 3.00 to 2.40 GHz when both units work");
    rig_close(&r);
}

/* A guest's two cores may be hardware threads of one: arithmetic takes longer on both, but a chain of additions, which
 * leaves most of a core idle, does not. */
static void hardware_threads_that_look_like_cores_are_found(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.together = 0.25}, two, 2,
             (rig_pair){.a_ns = 100000, .b_ns = 120000, .a_bytes = 10000, .b_bytes = 10000});
    rig_controls(&r, 0.9);
    st_probe_row *row = rig_run(&r);
    st_control_result *controls = row->controls;
    assert_true(controls[ST_CONTROL_COMPUTE].overlap.hi < 0.9);
    controls[ST_CONTROL_CLOCK].parallel_rate = controls[ST_CONTROL_CLOCK].solo_rate[0];
    st_cause_set(row, &r.record);
    assert_int_equal(row->cause, ST_CAUSE_SHARED_CORE);
    assert_string_equal(row->evidence,
                        "both are stretched, and so is arithmetic alone (1.25 and 1.25 times), while the clock stays "
                        "at 3.00 GHz: hardware threads of one core do that, though the system shows two");
    controls[ST_CONTROL_COMPUTE].overlap.hi = 0.95; /* it may be that they do not */
    st_cause_set(row, &r.record);
    assert_int_equal(row->cause, ST_CAUSE_UNEXPLAINED);
    rig_close(&r);
}

/* The same numbers, but nothing known of the units: no cause is guessed. */
static void without_controls_nothing_is_blamed(void **state) {
    (void)state;
    static const st_mock_options machines[] = {{.cold = 0.4}, {.together = 0.25}, {.bytes_per_ns = 0.15}};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        rig r;
        rig_open(&r, machines[i], two, 2,
                 (rig_pair){.a_ns = 100000, .b_ns = 120000, .a_bytes = 10000, .b_bytes = 10000});
        rig_chill(&r);
        st_probe_row *row = rig_run(&r);
        assert_int_equal(row->cause, ST_CAUSE_UNEXPLAINED);
        assert_non_null(strstr(row->evidence, "both are stretched in 100 % of rounds"));
        rig_close(&r);
    }
}

static void a_lock_of_the_process_is_found_by_a_second_process(void **state) {
    (void)state;
    st_round rounds[10] = {0};
    st_probe_row rows[2] = {
        {.arrangement = st_arrangement_find("two-units", NULL), .unit = {"cpu:0", "cpu:1"}},
        {.arrangement = st_arrangement_find("processes", NULL), .unit = {"cpu:0", "process:cpu:1"}}};
    for (int i = 0; i < 10; i++) {
        rounds[i].arms[ST_ARM_PARALLEL].end_ns[0] = 100; /* a first-in-first-out device, by its shape */
        rounds[i].arms[ST_ARM_PARALLEL].end_ns[1] = 200;
    }
    for (int i = 0; i < 2; i++) {
        strcpy(rows[i].name[0], "1");
        strcpy(rows[i].name[1], "3");
        rows[i].rounds = rounds;
        rows[i].n_rounds = 10;
        rows[i].median_ns[ST_ARM_SOLO_A] = rows[i].median_ns[ST_ARM_SOLO_B] = 100;
    }
    rows[0].overlap = (st_interval){0.01, -0.01, 0.03};
    rows[1].overlap = (st_interval){0.85, 0.81, 0.88};
    const st_probe_record record = {.rows = rows, .n_rows = 2};
    st_cause_set(&rows[0], &record);
    assert_int_equal(rows[0].cause, ST_CAUSE_PROCESS);
    assert_string_equal(rows[0].evidence, "in one process the factor is 0.01, in two 0.81 to 0.88");
    strcpy(rows[1].unit[1], "process:cpu:0+1"); /* other cores prove nothing */
    st_cause_set(&rows[0], &record);
    assert_int_equal(rows[0].cause, ST_CAUSE_FIFO);
}

static void one_core_is_proved_by_pinning_off(void **state) {
    (void)state;
    const unsigned first[] = {0};
    st_core cores[2] = {{.cpu = 0, .core = 0}, {.cpu = 1, .core = 1}};
    st_host host = {.cores = cores, .n_cores = 2, .max_threads = 2};
    const st_mock_unit_options units[2] = {{.name = "cpu:a", .cores = first, .n_cores = 1},
                                           {.name = "cpu:b", .cores = first, .n_cores = 1}};
    for (int wander = 0; wander < 2; wander++) {
        rig r;
        st_unit *unpinned[2];
        rig_open(&r, (st_mock_options){0}, units, 2, (rig_pair){.a_ns = 10 * MS, .b_ns = 12 * MS});
        /* where pinning is not to blame, units that share the core for another reason */
        for (int i = 0; i < 2; i++)
            assert_int_equal(st_mock_open(&unpinned[i], r.machine, wander ? &two[i] : &units[i], NULL), 0);
        r.setup.host = &host;
        r.setup.unpinned = unpinned;
        st_probe_row *row = rig_run(&r);
        assert_true(row->has_unpinned);
        assert_near(row->cpu_share[ST_ARM_PARALLEL], 1, 1e-6);
        if (wander) {
            assert_int_equal(row->cause, ST_CAUSE_ONE_CORE);
            assert_string_equal(
                row->evidence,
                "cpu:a and cpu:b share 1 of their cores, using 1.00 of CPU time a second together, while 1 "
                "allowed here idles (with pinning off the factor is 1.00): give each its own (--units)");
        } else {
            assert_int_equal(row->cause, ST_CAUSE_OVERSUBSCRIPTION);
        }
        for (int i = 0; i < 2; i++) st_unit_close(unpinned[i]);
        rig_close(&r);
    }
}

static void a_batch_that_reads_once_says_so(void **state) {
    (void)state;
    const st_unit_peaks peaks = {.unit = "mock:0", .n_threads = 1, .gb_per_s = 12, .gmac_per_s = 100};
    for (int known = 0; known < 2; known++) {
        rig r;
        rig_open(&r, (st_mock_options){0}, &fifo, 1,
                 (rig_pair){.a_ns = 5 * MS, .b_ns = 8 * MS, .a_bytes = 50 * MS, .b_bytes = 50 * MS});
        r.step[0].operations = 50 * MS;
        r.step[1].operations = 200 * MS;
        r.jobs[0].arrangement = st_arrangement_find("batch-4", NULL);
        if (known) r.setup.peaks = &peaks;
        st_probe_row *row = rig_run(&r);
        assert_int_equal(row->cause, known ? ST_CAUSE_READ_ONCE : ST_CAUSE_UNEXPLAINED);
        assert_string_equal(row->evidence,
                            known ? "one token reads 10.0 of the 12.0 GB/s that streaming gives, so that reading "
                                    "once alone would gain 0.83, measured 0.80; 4 in one call read 6.2 GB/s and "
                                    "do 25.0 Gmac/s, one does 10.0"
                                  : "4 single calls take 20 ms, one call of 4 tokens 8; 10.0 GB/s alone, "
                                    "6.2 in one call");
        rig_close(&r);
    }
}

static void what_is_not_known_stays_unexplained_with_its_numbers(void **state) {
    (void)state;
    rig r;
    rig_open(&r, (st_mock_options){.bytes_per_ns = 1}, two, 2,
             (rig_pair){.a_ns = 100000, .b_ns = 200000, .a_bytes = 90000, .b_bytes = 120000});
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->cause, ST_CAUSE_UNEXPLAINED);
    assert_int_equal(row->classes[ST_CLASS_STRETCHED], row->n_rounds);
    assert_string_equal(row->evidence, "both are stretched in 100 % of rounds; 1 takes 1.50 times as long as alone, "
                                       "3 1.25 times; together 0.8 GB/s, alone 0.9 and 0.6");
    rig_close(&r);
}

/* Two units on the given cores of a host with some more. */
static void cores_case(const unsigned *a, unsigned n_a, const unsigned *b, unsigned n_b, st_host *host, double penalty,
                       enum st_overlap verdict, enum st_cause cause, const char *evidence) {
    const st_mock_unit_options units[2] = {{.name = "cpu:a", .cores = a, .n_cores = n_a},
                                           {.name = "cpu:b", .cores = b, .n_cores = n_b}};
    rig r;
    rig_open(&r, (st_mock_options){.seed = 2, .sigma = 0.01, .oversubscribed = penalty}, units, 2,
             (rig_pair){.a_ns = 10 * MS, .b_ns = 12 * MS});
    r.setup.host = host;
    st_probe_row *row = rig_run(&r);
    assert_int_equal(row->verdict, verdict);
    assert_int_equal(row->cause, cause);
    assert_non_null(strstr(row->evidence, evidence));
    rig_close(&r);
}

static void shared_cores_are_found(void **state) {
    (void)state;
    const unsigned first[] = {0}, second[] = {1}, both[] = {0, 1};
    st_core cores[4] = {{.cpu = 0, .core = 0}, {.cpu = 1, .core = 1}, {.cpu = 2, .core = 2}, {.cpu = 3, .core = 2}};
    st_host host = {.cores = cores, .n_cores = 2, .max_threads = 2};
    cores_case(first, 1, first, 1, &host, 0, ST_OVERLAP_SERIALISES, ST_CAUSE_ONE_CORE,
               "cpu:a and cpu:b share 1 of their cores, using 1.00 of CPU time a second together, while 1 allowed here "
               "idles: give each its own (--units)");
    cores_case(both, 2, both, 2, &host, 0, ST_OVERLAP_SERIALISES, ST_CAUSE_OVERSUBSCRIPTION,
               "4 runnable threads on 2 allowed cores");
    cores_case(both, 2, both, 2, NULL, 0.5, ST_OVERLAP_INTERFERES, ST_CAUSE_OVERSUBSCRIPTION,
               "4 runnable threads on 2 allowed cores");
    cores_case(first, 1, second, 1, &host, 0, ST_OVERLAP_OVERLAPS, ST_CAUSE_TRUE_OVERLAP, "both end at their solo");
}

static void siblings_and_quotas_are_found(void **state) {
    (void)state;
    st_core cores[4] = {{.cpu = 0, .core = 0}, {.cpu = 1, .core = 1}, {.cpu = 2, .core = 2}, {.cpu = 3, .core = 2}};
    st_host host = {.cores = cores, .n_cores = 4, .max_threads = 4};
    st_probe_row row = {.arrangement = st_arrangement_find("two-units", NULL), .overlap = {0.3, 0.25, 0.35}};
    const st_probe_record record = {.rows = &row, .n_rows = 1};
    st_unit_info info[2] = {{.name = "cpu:2", .n_threads = 1, .n_cores = 1, .cores = {2}},
                            {.name = "cpu:3", .n_threads = 1, .n_cores = 1, .cores = {3}}};
    strcpy(row.unit[0], "cpu:2");
    strcpy(row.unit[1], "cpu:3");
    row.cores = st_row_cores_of(info, false, &host);
    st_cause_set(&row, &record);
    assert_int_equal(row.cause, ST_CAUSE_SHARED_CORE);
    assert_string_equal(row.evidence, "cpu:2 and cpu:3 have hardware threads of the same physical core");
    info[1].cores[0] = 1;
    host.max_threads = 1; /* four cores, but a quota of one CPU */
    row.cores = st_row_cores_of(info, false, &host);
    st_cause_set(&row, &record);
    assert_int_equal(row.cause, ST_CAUSE_OVERSUBSCRIPTION);
    assert_string_equal(row.evidence, "2 runnable threads on 1 allowed core");
}

static void an_alternating_loser_is_seen(void **state) {
    (void)state;
    st_round rounds[10] = {0};
    for (int i = 0; i < 10; i++) {
        rounds[i].arms[ST_ARM_PARALLEL].end_ns[i % 2] = 100;
        rounds[i].arms[ST_ARM_PARALLEL].end_ns[!(i % 2)] = 200;
    }
    st_probe_row row = {
        .arrangement = st_arrangement_find("two-units", NULL), .rounds = rounds, .n_rounds = 10, .name = {"1", "3"}};
    row.median_ns[ST_ARM_SOLO_A] = row.median_ns[ST_ARM_SOLO_B] = 100;
    st_cause_set(&row, &(st_probe_record){.rows = &row, .n_rows = 1});
    assert_int_equal(row.cause, ST_CAUSE_FIFO);
    assert_string_equal(row.evidence,
                        "one ends at its solo time, the other at the sum: 1 last in 50 % of rounds, 3 in 50 %");
    assert_int_equal(row.classes[ST_CLASS_A_FIRST], 5);
}

/* Programs compare it with what they know: it must not be cut. */
static void every_cause_fits_into_a_public_result(void **state) {
    (void)state;
    for (unsigned cause = 0; cause < ST_CAUSE_COUNT; cause++)
        assert_true(strlen(st_cause_name(cause)) < sizeof((stretto_probe_result *)0)->cause);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cause_fits_into_a_public_result),
        cmocka_unit_test(exact_devices_have_their_causes),
        cmocka_unit_test(a_rough_queue_is_a_queue),
        cmocka_unit_test(a_rough_overlap_is_told_by_its_medians),
        cmocka_unit_test(a_memory_that_one_alone_exhausts_is_no_time_sliced_engine),
        cmocka_unit_test(a_shared_cache_is_found_by_the_pair_when_warm),
        cmocka_unit_test(a_clock_that_drops_is_found),
        cmocka_unit_test(hardware_threads_that_look_like_cores_are_found),
        cmocka_unit_test(without_controls_nothing_is_blamed),
        cmocka_unit_test(a_lock_of_the_process_is_found_by_a_second_process),
        cmocka_unit_test(one_core_is_proved_by_pinning_off),
        cmocka_unit_test(a_batch_that_reads_once_says_so),
        cmocka_unit_test(what_is_not_known_stays_unexplained_with_its_numbers),
        cmocka_unit_test(shared_cores_are_found),
        cmocka_unit_test(siblings_and_quotas_are_found),
        cmocka_unit_test(an_alternating_loser_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
