/* SPDX-License-Identifier: MIT
 * Records through a pipe, and several of them as one. */
#include "probe/combine.h"
#include "probe/estimate.h"
#include "probe/wire.h"
#include "rig.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const st_mock_unit_options two[2] = {{.name = "mock:0"}, {.name = "mock:1"}};

/* A probe in a "process" whose memory gives bytes_per_ns: what differs from process to process. */
static st_probe_record record_of(uint64_t seed, double bytes_per_ns, unsigned rounds) {
    rig r;
    rig_open(&r, (st_mock_options){.seed = seed, .sigma = 0.01, .bytes_per_ns = bytes_per_ns}, two, 2,
             (rig_pair){.a_ns = 10 * MS, .b_ns = 10 * MS, .a_bytes = 9 * MS, .b_bytes = 9 * MS});
    rig_controls(&r, 0.9);
    r.jobs[1] = r.jobs[0];
    r.jobs[1].arrangement = st_arrangement_find("batch-4", NULL);
    r.jobs[1].unit[1] = 0;
    r.setup.n_jobs = 2;
    r.setup.seed = seed;
    r.setup.limits.rounds = rounds;
    rig_run(&r);
    assert_int_equal(r.code, 0);
    st_probe_record record = r.record;
    r.record = (st_probe_record){0};
    rig_close(&r);
    return record;
}

typedef struct sender {
    int fd;
    const st_probe_record *record;
    int code;
} sender;

static void *send_it(void *arg) {
    sender *s = arg;
    s->code = st_record_send(s->fd, s->record, NULL);
    close(s->fd);
    return NULL;
}

static void a_record_comes_through_a_pipe_as_it_was(void **state) {
    (void)state;
    st_probe_record record = record_of(1, 1.2, 40), got;
    st_buf_text(&record.warnings, "a warning: do something\n");
    int ends[2];
    pthread_t thread;
    assert_int_equal(pipe(ends), 0);
    sender s = {.fd = ends[1], .record = &record};
    assert_int_equal(pthread_create(&thread, NULL, send_it, &s), 0);
    assert_int_equal(st_record_receive(ends[0], &got, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(s.code, 0);
    assert_int_equal(got.n_rows, 2);
    assert_string_equal(got.warnings.data, record.warnings.data);
    assert_int_equal(got.n_unit_pairs, 1);
    assert_memory_equal(got.unit_pairs, record.unit_pairs, sizeof *got.unit_pairs);
    for (size_t i = 0; i < 2; i++) {
        const st_probe_row *a = &record.rows[i], *b = &got.rows[i];
        assert_ptr_equal(a->arrangement, b->arrangement);
        assert_string_equal(a->evidence, b->evidence);
        assert_int_equal(a->n_rounds, b->n_rounds);
        assert_memory_equal(a->rounds, b->rounds, a->n_rounds * sizeof *a->rounds);
        assert_memory_equal(&a->overlap, &b->overlap, sizeof a->overlap);
    }
    close(ends[0]);
    st_probe_record_free(&got);
    st_probe_record_free(&record);
}

/* What came before the end can be used. */
static void rows_are_whole(st_probe_record *got, const st_probe_record *sent) {
    for (size_t i = 0; i < got->n_rows; i++) {
        const st_probe_row *a = &sent->rows[i], *b = &got->rows[i];
        assert_ptr_equal(a->arrangement, b->arrangement);
        assert_int_equal(a->n_rounds, b->n_rounds);
        assert_memory_equal(a->rounds, b->rounds, a->n_rounds * sizeof *a->rounds);
    }
    if (got->n_rows > 0) assert_int_equal(st_record_judge(got, NULL), 0);
}

static void what_is_no_record_is_refused(void **state) {
    (void)state;
    st_probe_record record = record_of(1, 1.2, 10), got;
    char path[] = "/tmp/stretto-record-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(st_record_send(fd, &record, NULL), 0);
    off_t whole = lseek(fd, 0, SEEK_END);
    stretto_error err;
    for (off_t cut = 0; cut < whole; cut += whole / 37 + 1) { /* the other process died while it wrote */
        assert_int_equal(ftruncate(fd, cut), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(st_record_receive(fd, &got, &err), STRETTO_E_IO);
        assert_non_null(strstr(err.text, "early"));
        rows_are_whole(&got, &record);
        st_probe_record_free(&got);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(st_record_send(fd, &record, NULL), 0);
    }
    const uint64_t many = UINT64_MAX; /* warnings: the last number of the head, behind a word and six sizes */
    assert_int_equal(pwrite(fd, &many, sizeof many, 7 * sizeof many), sizeof many);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(st_record_receive(fd, &got, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "items"));
    st_probe_record_free(&got);
    assert_int_equal(pwrite(fd, "other", 5, 0), 5);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(st_record_receive(fd, &got, &err), STRETTO_E_INPUT);
    st_probe_record_free(&got);
    st_probe_record_free(&record);
    close(fd);
}

/* Five processes, each with its own bandwidth: within one the interval is narrow, and wrong about the next. */
static void what_differs_between_processes_is_in_the_interval(void **state) {
    (void)state;
    static const double bandwidths[5] = {1.20, 1.28, 1.16, 1.24, 1.32};
    st_probe_record all = record_of(1, bandwidths[0], 20);
    st_interval one = all.rows[0].overlap;
    for (unsigned i = 1; i < 5; i++) {
        st_probe_record part = record_of(1 + i, bandwidths[i], 20);
        assert_int_equal(st_record_add(&all, &part, NULL), 0);
        st_probe_record_free(&part);
    }
    assert_int_equal(st_record_judge(&all, NULL), 0);
    const st_probe_row *row = &all.rows[0];
    assert_int_equal(all.n_processes, 5);
    assert_int_equal(row->n_rounds, 100);
    for (unsigned i = 0; i < 100; i++) assert_int_equal(row->rounds[i].process, i / 20);
    assert_true(one.hi - one.lo < 0.03);
    assert_true(row->overlap.hi - row->overlap.lo > 0.08);
    assert_true(row->overlap.lo < one.lo && one.hi < row->overlap.hi);
    assert_near(row->overlap.value, 2 - 1.8 / 1.24, 0.02);
    assert_int_equal(row->verdict, ST_OVERLAP_OVERLAPS);
    assert_int_equal(row->cause, ST_CAUSE_BANDWIDTH);
    assert_true(row->level == 0.95);
    assert_int_equal(all.rows[1].k, 4);
    assert_int_equal(all.rows[1].n_rounds, 100);
    st_probe_record_free(&all);
}

/* Rounds differ within a process and between processes by as much: do the 95 % intervals hold the truth, 0 (of ratios:
 * 1), as often as they say? A plain bootstrap of few processes holds it in 73 to 90 %. */
static void intervals_of_few_processes_hold_the_truth(void **state) {
    (void)state;
    enum { PROBES = 400, ROUNDS = 10, MOST = 5 };
    for (unsigned n = 2; n <= MOST; n++) {
        st_rng rng;
        st_rng_seed(&rng, n);
        unsigned held = 0;
        for (unsigned probe = 0; probe < PROBES; probe++) {
            double values[MOST * ROUNDS], its_own = 0;
            unsigned process[MOST * ROUNDS];
            const bool ratio = probe % 2;
            st_estimate_options options = {.level = 0.95, .resamples = 200, .seed = probe, .ratio = ratio};
            st_interval in;
            for (unsigned i = 0; i < n * ROUNDS; i++) {
                if (i % ROUNDS == 0) its_own = st_rng_normal(&rng);
                values[i] = its_own + st_rng_normal(&rng);
                if (ratio) values[i] = exp(values[i]);
                process[i] = i / ROUNDS;
            }
            assert_int_equal(st_estimate_interval(values, process, (size_t)n * ROUNDS, &options, &in, NULL), 0);
            assert_true(!ratio || in.lo > 0);
            held += in.lo <= ratio && ratio <= in.hi;
        }
        printf("%u processes: %.1f %%\n", n, 100.0 * held / PROBES);
        assert_true(held >= 0.92 * PROBES);
    }
}

static void other_rows_are_refused_and_change_nothing(void **state) {
    (void)state;
    st_probe_record record = record_of(1, 1.2, 10), other = record_of(2, 1.2, 10);
    stretto_error err;
    other.rows[1].arrangement = st_arrangement_find("batch-8", NULL);
    assert_int_equal(st_record_add(&record, &other, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "a process measured 1, batch-8 as row 2, the first one did not");
    assert_int_equal(record.n_processes, 1);
    assert_int_equal(record.rows[0].n_rounds, 10);
    st_probe_record_free(&record);
    st_probe_record_free(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_through_a_pipe_as_it_was),
        cmocka_unit_test(what_is_no_record_is_refused),
        cmocka_unit_test(what_differs_between_processes_is_in_the_interval),
        cmocka_unit_test(intervals_of_few_processes_hold_the_truth),
        cmocka_unit_test(other_rows_are_refused_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
