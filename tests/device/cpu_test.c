/* SPDX-License-Identifier: MIT */
#include "device/cpu.h"

#include "base/error.h"
#include "base/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/cpu_time.h"
#include "support/lanes.h"

static void nap_ms(long ms) {
    const struct timespec nap = {.tv_nsec = ms * 1000000};
    nanosleep(&nap, NULL);
}

/* A step that can be held, records its place in the order of runs, and may fail. */
typedef struct probe_step {
    st_step step;
    atomic_bool *gate; /* run waits until it is true; NULL: does not wait */
    atomic_uint *order;
    unsigned place; /* 0: not run */
    unsigned workers;
    int code;
} probe_step;

static int probe_run(void *arg, const st_worker *worker, stretto_error *err) {
    probe_step *p = arg;
    if (worker->id != 0) {
        st_worker_sync(worker);
        return STRETTO_E_INTERNAL; /* only worker 0's counts */
    }
    while (p->gate && !atomic_load(p->gate)) sched_yield();
    p->workers = worker->count;
    p->place = atomic_fetch_add(p->order, 1) + 1;
    st_worker_sync(worker);
    return p->code ? st_fail(err, p->code, "made to fail") : 0;
}

static atomic_uint order_dummy;

static void probe_init(probe_step *p, atomic_uint *order, atomic_bool *gate) {
    *p = (probe_step){.order = order ? order : &order_dummy, .gate = gate};
    p->step = (st_step){.name = "probe", .run = probe_run, .arg = p};
}

static void submit(st_queue *queue, probe_step *p, st_event *const *deps, size_t n_deps, st_event *done) {
    stretto_error err;
    assert_int_equal(st_submit(queue, &p->step, deps, n_deps, done, &err), 0);
}

static void check_name(const lanes_host *fake, const unsigned *cores, unsigned n, const char *name) {
    st_unit *unit;
    stretto_error err;
    const st_cpu_options options = {.cores = cores, .n_cores = n};
    assert_int_equal(st_cpu_open(&unit, &fake->host, &options, &err), 0);
    st_unit_info info;
    st_unit_info_get(unit, &info);
    assert_string_equal(info.name, name);
    assert_string_equal(info.kind, "cpu");
    assert_string_equal(info.device, "made-up");
    assert_int_equal(info.n_cores, n);
    assert_int_equal(info.n_threads, n);
    for (unsigned i = 1; i < n; i++) assert_true(info.cores[i] > info.cores[i - 1]);
    assert_true(info.shares_memory);
    st_unit_close(unit);
}

static void says_what_it_is(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 8);
    check_name(&fake, (const unsigned[]){5}, 1, "cpu:5");
    check_name(&fake, (const unsigned[]){1, 0}, 2, "cpu:0+1");
    check_name(&fake, (const unsigned[]){7, 2, 1, 3}, 4, "cpu:1-3+7");
}

static void refuses_cores_that_are_not_there(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 2);
    st_unit *unit;
    stretto_error err;
    const struct {
        unsigned cores[2], n;
        const char *text;
    } cases[] = {{{0}, 0, "at least one core"}, {{2}, 1, "no core 2"}, {{1, 1}, 2, "core 1 stands twice"}};
    for (int i = 0; i < 3; i++) {
        const st_cpu_options options = {.cores = cases[i].cores, .n_cores = cases[i].n};
        assert_int_equal(st_cpu_open(&unit, &fake.host, &options, &err), STRETTO_E_USAGE);
        assert_null(unit);
        assert_non_null(strstr(err.text, cases[i].text));
    }
}

typedef struct heard {
    char text[1024];
    enum st_log_level level;
    unsigned n;
} heard;

static void hear(void *arg, enum st_log_level level, const char *text) {
    heard *h = arg;
    snprintf(h->text, sizeof h->text, "%s", text);
    h->level = level;
    h->n++;
}

static void check_threads(const lanes_host *fake, unsigned n_cores, unsigned ask, unsigned get, const char *warning) {
    heard h = {.n = 0};
    const st_log log = {.fn = hear, .arg = &h};
    const unsigned cores[] = {0, 1, 2, 3};
    const st_cpu_options options = {.cores = cores, .n_cores = n_cores, .n_threads = ask, .log = &log};
    st_unit *unit;
    stretto_error err;
    assert_int_equal(st_cpu_open(&unit, &fake->host, &options, &err), 0);
    st_unit_info info;
    st_unit_info_get(unit, &info);
    assert_int_equal(info.n_threads, get);
    assert_int_equal(h.n, warning ? 1 : 0);
    if (warning) assert_string_equal(h.text, warning);
    if (warning) assert_int_equal(h.level, ask ? ST_LOG_WARN : ST_LOG_INFO);
    st_unit_close(unit);
}

static void reduces_threads_with_a_warning(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 2);
    check_threads(&fake, 2, 0, 2, NULL);
    check_threads(&fake, 2, 1, 1, NULL);
    check_threads(&fake, 2, 8, 2, "8 threads asked, 2 cores allowed here: using 2");
    check_threads(&fake, 1, 2, 1, "2 threads asked, cpu:0 has 1 core: using 1");
    lanes_host_init(&fake, 4);
    fake.host.quota_cpus = 1.5;
    fake.host.max_threads = 2;
    check_threads(&fake, 4, 8, 2, "8 threads asked, 2 cores allowed here (cgroup quota): using 2");
    check_threads(&fake, 4, 0, 2, "cpu:0-3 has 4 cores, but 2 allowed here (cgroup quota): using 2 threads");
    check_threads(&fake, 2, 2, 2, NULL);
}

static void runs_on_all_workers_and_stamps(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 4);
    for (unsigned n = 1; n <= 3; n++) {
        st_unit *unit = lanes_open(&fake, 0, n, 20000);
        st_queue *queue = lanes_queue(unit);
        st_event done;
        st_event_init(&done);
        uint64_t last = st_now_ns();
        for (int i = 0; i < 300; i++) {
            probe_step p;
            stretto_error err;
            probe_init(&p, NULL, NULL);
            assert_int_equal(st_run_step(queue, &p.step, &done, &err), 0);
            assert_int_equal(p.workers, n);
            assert_true(last <= done.submit_ns && done.submit_ns <= done.start_ns && done.start_ns <= done.end_ns);
            last = done.end_ns;
            if (i % 100 == 0) nap_ms(1);
        }
        st_queue_close(queue);
        st_unit_close(unit);
    }
}

static void a_step_that_fails_says_why(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 2);
    st_unit *unit = lanes_open(&fake, 0, 2, 20000);
    st_queue *queue = lanes_queue(unit);
    st_event done;
    st_event_init(&done);
    probe_step p;
    stretto_error err = {0};
    probe_init(&p, NULL, NULL);
    p.code = STRETTO_E_INPUT;
    assert_int_equal(st_run_step(queue, &p.step, &done, &err), STRETTO_E_INPUT);
    assert_string_equal(err.text, "made to fail");
    p.code = 0;
    assert_int_equal(st_run_step(queue, &p.step, &done, &err), 0); /* the lane goes on */
    st_queue_close(queue);
    st_unit_close(unit);
}

/* Two queues: what can start starts in order of submission; what waits for another unit holds up its own queue only. */
static void first_in_first_out_over_queues(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 2);
    st_unit *unit = lanes_open(&fake, 0, 1, 20000), *other = lanes_open(&fake, 1, 1, 20000);
    st_queue *a = lanes_queue(unit), *b = lanes_queue(unit), *c = lanes_queue(other);
    atomic_bool gate, foreign_gate;
    atomic_uint order;
    atomic_init(&gate, false);
    atomic_init(&foreign_gate, false);
    atomic_init(&order, 0);
    probe_step p[7], foreign;
    st_event done[7], foreign_done, *dep = &foreign_done;
    st_event_init(&foreign_done);
    for (int i = 0; i < 7; i++) {
        st_event_init(&done[i]);
        probe_init(&p[i], &order, i == 0 ? &gate : NULL);
    }
    probe_init(&foreign, NULL, &foreign_gate);
    submit(c, &foreign, NULL, 0, &foreign_done);
    submit(a, &p[0], NULL, 0, &done[0]); /* holds the lane until all are submitted */
    submit(a, &p[1], NULL, 0, &done[1]);
    submit(b, &p[2], NULL, 0, &done[2]);
    submit(a, &p[3], &dep, 1, &done[3]); /* waits for the other unit */
    submit(b, &p[4], NULL, 0, &done[4]);
    submit(a, &p[5], NULL, 0, &done[5]); /* behind p[3] in its queue */
    submit(b, &p[6], NULL, 0, &done[6]);
    atomic_store(&gate, true);
    stretto_error err;
    for (int i = 0; i < 7; i += 2) assert_int_equal(st_event_wait(&done[i], &err), 0);
    assert_int_equal(st_event_wait(&done[1], &err), 0);
    assert_false(st_event_done(&done[3]) || st_event_done(&done[5]));
    atomic_store(&foreign_gate, true);
    assert_int_equal(st_event_wait(&done[5], &err), 0);
    const unsigned want[] = {1, 2, 3, 6, 4, 7, 5};
    for (int i = 0; i < 7; i++) assert_int_equal(p[i].place, want[i]);
    assert_true(done[3].start_ns >= foreign_done.end_ns);
    st_queue_close(a);
    st_queue_close(b);
    st_queue_close(c);
    st_unit_close(unit);
    st_unit_close(other);
}

static void failure_passes_down_the_chain(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 2);
    st_unit *units[2] = {lanes_open(&fake, 0, 1, 1000), lanes_open(&fake, 1, 1, 1000)};
    st_queue *queues[2] = {lanes_queue(units[0]), lanes_queue(units[1])};
    atomic_bool gate;
    atomic_uint order;
    atomic_init(&gate, false);
    atomic_init(&order, 0);
    probe_step p[5];
    st_event done[5], *dep;
    for (int i = 0; i < 5; i++) {
        st_event_init(&done[i]);
        probe_init(&p[i], &order, i == 0 ? &gate : NULL);
        dep = i > 0 ? &done[i - 1] : NULL;
        p[i].code = i == 0 ? STRETTO_E_STOPPED : 0;
        submit(queues[i % 2], &p[i], &dep, i == 0 || i == 4 ? 0 : 1, &done[i]);
    }
    atomic_store(&gate, true);
    for (int i = 0; i < 5; i++) {
        stretto_error err = {0};
        assert_int_equal(st_event_wait(&done[i], &err), i == 4 ? 0 : STRETTO_E_STOPPED);
        if (i < 4) assert_string_equal(err.text, "made to fail");
        assert_int_equal(p[i].place > 0, i == 0 || i == 4);
        assert_true(done[i].start_ns >= done[i].submit_ns && done[i].end_ns >= done[i].start_ns);
    }
    dep = &done[0]; /* one that failed before the submission */
    submit(queues[1], &p[1], &dep, 1, &done[1]);
    assert_int_equal(st_event_wait(&done[1], NULL), STRETTO_E_STOPPED);
    for (int i = 0; i < 2; i++) {
        st_queue_close(queues[i]);
        st_unit_close(units[i]);
    }
}

/* `first` is reused, for a step that waits for `second`, before the lane could look at it on behalf of `second`. */
static void an_event_can_be_reused_once_done(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 2);
    st_unit *units[2] = {lanes_open(&fake, 0, 1, 1000), lanes_open(&fake, 1, 1, 1000)};
    st_queue *queues[2] = {lanes_queue(units[0]), lanes_queue(units[1])};
    atomic_bool gate;
    atomic_init(&gate, false);
    probe_step held, p[3];
    st_event held_done, first, second, *dep;
    st_event_init(&held_done);
    st_event_init(&first);
    st_event_init(&second);
    probe_init(&held, NULL, &gate);
    for (int i = 0; i < 3; i++) probe_init(&p[i], NULL, NULL);
    submit(queues[1], &held, NULL, 0, &held_done);
    submit(queues[0], &p[0], NULL, 0, &first);
    dep = &first;
    submit(queues[1], &p[1], &dep, 1, &second); /* behind the held step */
    stretto_error err;
    assert_int_equal(st_event_wait(&first, &err), 0);
    dep = &second;
    submit(queues[0], &p[2], &dep, 1, &first);
    assert_false(st_event_done(&first));
    atomic_store(&gate, true);
    assert_int_equal(st_event_wait(&first, &err), 0);
    assert_true(first.start_ns >= second.end_ns);
    for (int i = 0; i < 2; i++) {
        st_queue_close(queues[i]);
        st_unit_close(units[i]);
    }
}

static void a_full_queue_refuses(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 1);
    st_unit *unit = lanes_open(&fake, 0, 1, 1000);
    st_queue *queue = lanes_queue(unit);
    st_unit_info info;
    st_unit_info_get(unit, &info);
    static st_event done[1024];
    static probe_step p[1024];
    assert_in_range(info.max_pending, 1, 1023);
    atomic_bool gate;
    atomic_uint order;
    atomic_init(&gate, false);
    atomic_init(&order, 0);
    stretto_error err;
    for (unsigned i = 0; i <= info.max_pending; i++) {
        st_event_init(&done[i]);
        probe_init(&p[i], &order, i == 0 ? &gate : NULL);
    }
    for (unsigned i = 0; i < info.max_pending; i++) submit(queue, &p[i], NULL, 0, &done[i]);
    st_event *extra = &done[info.max_pending];
    assert_int_equal(st_submit(queue, &p[info.max_pending].step, NULL, 0, extra, &err), STRETTO_E_UNIT);
    assert_non_null(strstr(err.text, "cpu:0"));
    assert_int_equal(st_event_wait(extra, &err), STRETTO_E_INTERNAL);
    atomic_store(&gate, true);
    for (unsigned i = 0; i < 2000; i++) { /* a slot is free as soon as the event is done */
        unsigned at = i % info.max_pending;
        assert_int_equal(st_event_wait(&done[at], &err), 0);
        submit(queue, &p[at], NULL, 0, &done[at]);
    }
    st_queue_close(queue);
    for (unsigned i = 0; i < info.max_pending; i++) assert_true(st_event_done(&done[i]));
    assert_int_equal(atomic_load(&order), info.max_pending + 2000);
    st_unit_close(unit);
}

/* Units are closed while steps wait for each other across them; queues are left to them. */
static void closing_finishes_what_is_pending(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 3);
    for (int round = 0; round < 20; round++) {
        st_unit *units[2] = {lanes_open(&fake, 0, 1, 1000), lanes_open(&fake, 1, 2, 1000)};
        st_queue *queues[2] = {lanes_queue(units[0]), lanes_queue(units[1])};
        atomic_uint order;
        atomic_init(&order, 0);
        enum { N = 40 };
        probe_step p[N];
        st_event done[N], *dep;
        for (int i = 0; i < N; i++) {
            st_event_init(&done[i]);
            probe_init(&p[i], &order, NULL);
            dep = i > 0 ? &done[i - 1] : NULL;
            submit(queues[i % 2], &p[i], &dep, i > 0, &done[i]);
        }
        if (round % 2 == 0) st_queue_close(queues[round / 2 % 2]);
        st_unit_close(units[round % 2]);
        st_unit_close(units[1 - round % 2]);
        for (unsigned i = 0; i < N; i++) {
            assert_true(st_event_done(&done[i]));
            assert_int_equal(p[i].place, i + 1);
        }
    }
}

static void a_quiet_unit_uses_no_time(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 3);
    st_unit *unit = lanes_open(&fake, 0, 3, (uint64_t)10000000000u);
    st_queue *queue = lanes_queue(unit);
    st_event done;
    st_event_init(&done);
    stretto_error err;
    for (int i = 0; i < 20; i++) {
        probe_step p;
        probe_init(&p, NULL, NULL);
        assert_int_equal(st_run_step(queue, &p.step, &done, &err), 0);
        st_unit_quiet(unit);
        st_unit_quiet(unit);
    }
    nap_ms(20);
    uint64_t start = process_cpu_ns();
    nap_ms(30);
    assert_true(process_cpu_ns() - start < 10000000);
    st_queue_close(queue);
    st_unit_close(unit);
}

typedef struct where {
    cpu_set_t set[4];
} where;

static int look_around(void *arg, const st_worker *worker, stretto_error *err) {
    (void)err;
    sched_getaffinity(0, sizeof(cpu_set_t), &((where *)arg)->set[worker->id]);
    return 0;
}

static void submitters_sit_there_too(st_unit *unit, const st_host *host, unsigned n_workers) {
    cpu_set_t before, set;
    st_affinity affinity;
    st_affinity_get(&affinity);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (unsigned i = 0; i < n_workers; i++) {
        assert_true(st_unit_bind(unit, i));
        assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
        assert_int_equal(CPU_COUNT(&set), 1);
        assert_true(CPU_ISSET(host->cores[i].cpu, &set));
    }
    assert_false(st_unit_bind(unit, n_workers));
    st_affinity_set(&affinity);
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_true(CPU_EQUAL(&set, &before));
}

static void workers_sit_on_their_cores(void **state) {
    (void)state;
    st_host host;
    stretto_error err;
    assert_int_equal(st_host_read(&host, "", &err), 0);
    const unsigned cores[] = {0, 1};
    const st_cpu_options options = {.cores = cores, .n_cores = host.n_cores < 2 ? 1 : 2, .pin = true};
    st_unit *unit;
    assert_int_equal(st_cpu_open(&unit, &host, &options, &err), 0);
    st_queue *queue = lanes_queue(unit);
    st_unit_info info;
    st_unit_info_get(unit, &info);
    where w;
    const st_step step = {.name = "look", .run = look_around, .arg = &w};
    st_event done;
    st_event_init(&done);
    assert_int_equal(st_run_step(queue, &step, &done, &err), 0);
    for (unsigned i = 0; i < info.n_threads; i++) {
        assert_int_equal(CPU_COUNT(&w.set[i]), 1);
        assert_true(CPU_ISSET(host.cores[i].cpu, &w.set[i]));
    }
    submitters_sit_there_too(unit, &host, info.n_threads);
    st_queue_close(queue);
    st_unit_close(unit);
    st_host_free(&host);
}

static void refused_binding_is_a_warning(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 2);
    fake.cores[0].cpu = fake.cores[1].cpu = 100000;
    heard h = {.n = 0};
    const st_log log = {.fn = hear, .arg = &h};
    const unsigned cores[] = {0, 1};
    const st_cpu_options options = {.cores = cores, .n_cores = 2, .pin = true, .log = &log};
    st_unit *unit;
    stretto_error err;
    assert_int_equal(st_cpu_open(&unit, &fake.host, &options, &err), 0);
    assert_int_equal(h.n, 2);
    assert_non_null(strstr(h.text, "100000"));
    assert_false(st_unit_bind(unit, 0));
    st_queue *queue = lanes_queue(unit);
    probe_step p;
    st_event done;
    probe_init(&p, NULL, NULL);
    st_event_init(&done);
    assert_int_equal(st_run_step(queue, &p.step, &done, &err), 0);
    assert_int_equal(p.workers, 2);
    st_queue_close(queue);
    st_unit_close(unit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(refuses_cores_that_are_not_there),
        cmocka_unit_test(reduces_threads_with_a_warning),
        cmocka_unit_test(runs_on_all_workers_and_stamps),
        cmocka_unit_test(a_step_that_fails_says_why),
        cmocka_unit_test(first_in_first_out_over_queues),
        cmocka_unit_test(failure_passes_down_the_chain),
        cmocka_unit_test(an_event_can_be_reused_once_done),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(closing_finishes_what_is_pending),
        cmocka_unit_test(a_quiet_unit_uses_no_time),
        cmocka_unit_test(workers_sit_on_their_cores),
        cmocka_unit_test(refused_binding_is_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
