/* SPDX-License-Identifier: MIT
 * The planner's simulation against the engine that executes schedules: on units whose steps take as long as they are
 * told to, whatever else the machine does, each stream's first and last token come when they were predicted. */
#include "base/clock.h"
#include "base/error.h"
#include "plan/simulate.h"
#include "run/schedule.h"
#include "unit/event.h"

#include "support/fixture.h"

#include <math.h>
#include <time.h>

#define N_STREAMS 4
#define PROMPT 20
#define GENERATE 5
#define N_CHUNKS 2
#define MS 1e6
#define TRIES 8        /* a busy machine wakes sleepers late */
#define TOLERANCE 0.15 /* in one of the tries */

static const double chunk_ms[N_CHUNKS][2] = {{24, 32}, {18, 14}}; /* on each unit */

/* A lane whose steps sleep until their time is over. */
typedef struct slow_unit {
    st_unit unit; /* first member */
    st_unit *lane;
    unsigned index;
} slow_unit;

#define SLOW_STEPS 64 /* more than there are submissions at once */
typedef struct slow_step {
    st_step step;
    const st_step *inner;
    double ns;
} slow_step;

typedef struct slow_queue {
    st_queue queue; /* first member */
    st_queue *inner;
    slow_step steps[SLOW_STEPS];
    unsigned next;
} slow_queue;

static int slow_run(void *arg, const st_worker *worker, stretto_error *err) {
    const slow_step *slow = arg;
    uint64_t end = st_now_ns() + (uint64_t)slow->ns;
    int code = slow->inner->run(slow->inner->arg, worker, err);
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) continue;
    return code;
}

static void slow_info(const st_unit *unit, st_unit_info *info) {
    st_unit_info_get(((const slow_unit *)unit)->lane, info);
}

static int slow_queue_open(st_unit *unit, st_queue **out, stretto_error *err) {
    slow_queue *queue = calloc(1, sizeof *queue);
    assert_non_null(queue);
    queue->queue.unit = unit;
    *out = &queue->queue;
    return st_queue_open(((slow_unit *)unit)->lane, &queue->inner, err);
}

static void slow_queue_close(st_queue *queue) {
    st_queue_close(((slow_queue *)queue)->inner);
    free(queue);
}

static int slow_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                       stretto_error *err) {
    slow_queue *q = (slow_queue *)queue;
    slow_step *slow = &q->steps[q->next++ % SLOW_STEPS];
    unsigned chunk = strcmp(step->name, "chunk 1") == 0 ? 0 : 1;
    *slow = (slow_step){.step = *step, .inner = step, .ns = chunk_ms[chunk][((slow_unit *)queue->unit)->index] * MS};
    slow->step.run = slow_run;
    slow->step.arg = slow;
    return st_submit(q->inner, &slow->step, deps, n_deps, done, err);
}

static void slow_quiet(st_unit *unit) {
    st_unit_quiet(((slow_unit *)unit)->lane);
}

static void slow_close(st_unit *unit) {
    (void)unit;
}

static const st_unit_ops slow_ops = {.info = slow_info,
                                     .queue_open = slow_queue_open,
                                     .queue_close = slow_queue_close,
                                     .submit = slow_submit,
                                     .wait = st_event_block,
                                     .quiet = slow_quiet,
                                     .close = slow_close};

/* ---- a schedule, predicted and run ---- */

typedef struct rig {
    fixture f, other; /* other: a model of the same vocabulary that says something else */
    slow_unit slow[2];
    st_span spans[ST_MAX_CHUNKS];
    st_costs costs;
    int32_t prompt[PROMPT];
    uint32_t generate;
    double first[N_STREAMS], last[N_STREAMS]; /* measured, ns */
    st_streams_stats stats;
} rig;

static void rig_open(rig *r) {
    stretto_error err = {0};
    uint32_t n;
    memset(r, 0, sizeof *r);
    fixture_open(&r->f, ST_GOLDEN "/tiny-llama-F32.gguf", NULL);
    fixture_open(&r->other, ST_GOLDEN "/tiny-qwen3-F32.gguf", NULL);
    assert_int_equal(r->f.model->n_vocab, r->other.model->n_vocab);
    r->generate = GENERATE;
    fixture_check(st_split_parse(r->spans, &n, "2", r->f.model, &err), &err);
    fixture_check(st_costs_create(&r->costs, N_CHUNKS, 2, &err), &err);
    for (uint32_t u = 0; u < 2; u++) {
        st_unit *lane = fixture_unit(&r->f, u, 1);
        r->slow[u] = (slow_unit){.unit = {.ops = &slow_ops, .clock = lane->clock}, .lane = lane, .index = u};
        snprintf(r->costs.units[u].name, ST_PLAN_NAME, "u%u", u);
        for (uint32_t c = 0; c < N_CHUNKS; c++) {
            snprintf(r->costs.chunks[c].name, ST_PLAN_NAME, "%u", c + 1);
            for (unsigned w = 0; w < ST_WORKS; w++) { /* the same for any number of tokens */
                st_cost_curve_add(st_costs_curve(&r->costs, c, u, w), 1, chunk_ms[c][u] * MS);
                st_cost_curve_add(st_costs_curve(&r->costs, c, u, w), 256, chunk_ms[c][u] * MS);
            }
        }
    }
    r->costs.units[1].draft_ns = chunk_ms[0][1] * MS;
    r->costs.units[1].draft_read_ns = chunk_ms[0][1] * MS / PROMPT;
    r->costs.acceptance[ST_DRAFT_MODEL] = 1;
}

static void rig_close(rig *r) {
    st_costs_free(&r->costs);
    fixture_close(&r->other);
    fixture_close(&r->f);
}

static int take_result(void *arg, const st_job_result *result) {
    rig *r = arg;
    assert_int_equal(result->n_ids, r->generate);
    r->first[result->job] = (double)result->first_token_ns;
    r->last[result->job] = (double)(result->first_token_ns + result->decode_ns);
    return 0;
}

/* A draft model for one stream; its steps take as long as those of the first chunk. */
static st_chain *open_draft(const st_model *model, st_unit *unit, uint32_t n_ctx) {
    stretto_error err = {0};
    st_span all = {0, model->n_layers - 1};
    st_chain *chain;
    st_chain_options o = {.model = model, .spans = &all, .n_chunks = 1, .units = &unit, .n_ctx = n_ctx};
    fixture_check(st_chain_open(&chain, &o, &err), &err);
    return chain;
}

/* draft: of a schedule that has one. */
static void run(rig *r, const st_schedule *schedule, uint32_t n_jobs, const st_model *draft) {
    static st_lineup lineup;
    stretto_error err = {0};
    st_unit *units[2];
    for (uint32_t u = 0; u < schedule->n_units; u++) units[u] = &r->slow[schedule->units[u][1] - '0'].unit;
    st_streams *streams;
    st_streams_options options = {
        .model = r->f.model, .spans = r->spans, .n_chunks = N_CHUNKS, .n_ctx = PROMPT + r->generate};
    fixture_check(st_schedule_lineup(schedule, N_CHUNKS, units, &lineup, &options, &err), &err);
    st_chain *chain = draft ? open_draft(draft, units[schedule->draft_unit], options.n_ctx) : NULL;
    if (chain) options.drafts = &chain;
    fixture_check(st_streams_open(&streams, &options, &err), &err);
    st_job jobs[N_STREAMS];
    for (unsigned i = 0; i < N_STREAMS; i++)
        jobs[i] = (st_job){.prompt = r->prompt, .n_prompt = PROMPT, .n_max = r->generate};
    st_streams_events events = {.on_result = take_result, .arg = r};
    fixture_check(st_streams_run(streams, jobs, n_jobs, &events, &err), &err);
    r->stats = st_streams_stats_get(streams);
    st_streams_close(streams);
    if (chain) st_chain_close(chain);
}

/* The largest share by which a token came at another time than predicted. */
static double deviation(const rig *r, const st_sim_result *predicted) {
    double worst = 0;
    for (unsigned i = 0; i < N_STREAMS; i++) {
        const st_sim_stream *s = &predicted->streams[i];
        worst = fmax(worst, fabs(r->first[i] / s->first_ns - 1));
        worst = fmax(worst, fabs(r->last[i] / s->last_ns - 1));
    }
    return worst;
}

static void compare(rig *r, const char *text) {
    static st_schedule schedule;
    stretto_error err = {0};
    st_sim_result predicted;
    st_workload workload = {N_STREAMS, PROMPT, GENERATE};
    fixture_check(st_schedule_parse(&schedule, text, strlen(text), &err), &err);
    fixture_check(st_simulate(&predicted, &r->costs, &schedule, &workload, &(st_sim_options){0}, &err), &err);
    double best = 1e9;
    for (unsigned i = 0; i < TRIES && best > TOLERANCE; i++) {
        run(r, &schedule, N_STREAMS, schedule.draft == ST_DRAFT_MODEL ? r->f.model : NULL);
        best = fmin(best, deviation(r, &predicted));
        /* Each prompt's own step, and while guesses are verified. */
        if (schedule.draft == ST_DRAFT_MODEL) assert_true(r->stats.n_beside > N_STREAMS);
    }
    st_buf title = {0};
    st_schedule_title(&title, &schedule);
    print_message("%5.1f ms, at most %4.1f %% off: %s\n", predicted.end_ns / MS, 100 * best, title.data);
    st_buf_free(&title);
    st_sim_result_free(&predicted);
    assert_true(best <= TOLERANCE);
}

#define HEAD "{\"schema\": \"stretto-schedule/1\", "
#define ON(a, b) "\"chunks\": [{\"chunk\": 1, \"unit\": \"" a "\"}, {\"chunk\": 2, \"unit\": \"" b "\"}], "

#define DRAFT(longest)                                                                                                 \
    "\"speculation\": {\"draft\": \"model\", \"longest\": " #longest ", \"unit\": \"u1\", \"model\": \"x\"}}"

static void tokens_come_when_they_were_predicted(void **state) {
    (void)state;
    static const char *const schedules[] = {
        HEAD "\"kind\": \"serial\", \"units\": [\"u0\"], " ON("u0", "u0") "\"micro_batch\": 32}",
        HEAD "\"kind\": \"serial\", \"units\": [\"u0\"], " ON("u0", "u0") "\"micro_batch\": 32, \"host_beside\": true}",
        HEAD
        "\"kind\": \"placed\", \"units\": [\"u0\", \"u1\"], " ON("u0", "u1") "\"micro_batch\": 8, \"pipelined\": true}",
        HEAD
        "\"kind\": \"staged\", \"units\": [\"u0\", \"u1\"], " ON("u0", "u1") "\"micro_batch\": 20, \"streams\": 4}",
        HEAD "\"kind\": \"staged\", \"units\": [\"u0\", \"u1\"], " ON("u1", "u0") "\"micro_batch\": 8, \"streams\": 3, "
                                                                                  "\"pipelined\": true}",
        HEAD
        "\"kind\": \"staged\", \"units\": [\"u0\", \"u1\"], " ON("u0", "u1") "\"micro_batch\": 16, \"streams\": 4, "
                                                                             "\"batch\": 2, \"host_beside\": true}",
        HEAD "\"kind\": \"batched\", \"units\": [\"u1\"], " ON("u1", "u1") "\"micro_batch\": 16, \"streams\": 4}",
        HEAD "\"kind\": \"handover\", \"units\": [\"u0\", \"u1\"], " ON(
            "u0", "u0") "\"prompt_unit\": \"u1\", "
                        "\"micro_batch\": 16, \"streams\": 4, \"batch\": 4}",
        HEAD "\"kind\": \"replicas\", \"units\": [\"u0\", \"u1\"], \"chunks\": [{\"chunk\": 1}, {\"chunk\": 2}], "
             "\"micro_batch\": 16, \"streams\": 3, \"batch\": 2}",
        HEAD "\"kind\": \"serial\", \"units\": [\"u0\", \"u1\"], " ON("u0", "u0") DRAFT(1),
    };
    rig r;
    rig_open(&r);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) compare(&r, schedules[i]);
    rig_close(&r);
}

/* A draft model whose tokens are always wrong: one is tried, which costs its step, and hardly one more. */
static void a_draft_that_is_wrong_is_given_up(void **state) {
    (void)state;
    static st_schedule schedule;
    static const char text[] = HEAD "\"kind\": \"serial\", \"units\": [\"u0\", \"u1\"], " ON("u0", "u0") DRAFT(4);
    stretto_error err = {0};
    rig r;
    rig_open(&r);
    r.generate = 30;
    fixture_check(st_schedule_parse(&schedule, text, strlen(text), &err), &err);
    double step = (chunk_ms[0][0] + chunk_ms[1][0]) * MS, allowed = 29 * step * 1.01 + chunk_ms[0][1] * MS, best = 1e18;
    for (unsigned i = 0; i < TRIES && best > 1.03 * allowed; i++) {
        run(&r, &schedule, 1, r.other.model);
        best = fmin(best, r.last[0] - r.first[0]);
        assert_in_range(r.stats.n_guessed, 1, 3);
        assert_int_equal(r.stats.n_right, 0);
    }
    assert_true(best <= 1.03 * allowed);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tokens_come_when_they_were_predicted),
                                       cmocka_unit_test(a_draft_that_is_wrong_is_given_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
