/* SPDX-License-Identifier: MIT
 * Streams on tiny models: whatever the stations, passes and rows, the ids are those of a serial run; and ways to end.
 */
#include "run/streams.h"

#include "support/fixture.h"
#include "support/frail.h"
#include "support/rewrite.h"

#include <unistd.h>

#define N_JOBS 7
#define N_CTX 96
#define MOST 40

typedef struct answer {
    int32_t ids[N_CTX];
    uint32_t n, reports;
    enum st_finish finish;
    stretto_error error;
} answer;

typedef struct work {
    fixture f;
    st_span spans[ST_MAX_CHUNKS];
    uint32_t n_chunks;
    st_unit *unit_of[2][ST_MAX_CHUNKS]; /* of two stations */
    int32_t prompts[N_JOBS][48];
    st_sampler_options sampling[N_JOBS];
    st_job jobs[N_JOBS];
    answer expected[N_JOBS], got[N_JOBS];
    uint32_t n_reports, stop_job, stop_at, stop_all_after, ids_seen;
    int rc; /* what a run is to give when no unit fails and nothing is stopped */
    atomic_bool cancel;
} work;

/* Prompts of different lengths, some with few ids to follow, half of them sampled, each with its own seed. */
static void make_jobs(work *w) {
    static const uint32_t lengths[N_JOBS] = {1, 9, 33, 48, 2, 17, 40}, most[N_JOBS] = {MOST, 30, 1, MOST, 0, 25, MOST};
    for (uint32_t i = 0; i < N_JOBS; i++) {
        for (uint32_t t = 0; t < lengths[i]; t++)
            w->prompts[i][t] = (int32_t)((i * 37 + (t % 8) * 11 + 3) % w->f.model->n_vocab);
        w->sampling[i] = (st_sampler_options){.temperature = i % 2 ? 0.9 : 0,
                                              .top_k = 20,
                                              .top_p = 1,
                                              .seed = 100 + i,
                                              .repeat_penalty = 1.1,
                                              .repeat_last = i % 3 ? 16 : 0};
        w->jobs[i] =
            (st_job){.prompt = w->prompts[i], .n_prompt = lengths[i], .n_max = most[i], .sampler = &w->sampling[i]};
    }
}

static int take_expected(void *arg, int32_t id) {
    answer *a = arg;
    a->ids[a->n++] = id;
    return 0;
}

static void run_serially(work *w) {
    st_chain *chain = fixture_chain(&w->f, NULL, ST_KV_F16, N_CTX, 32, 0, NULL);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        stretto_error err = {0};
        st_sampler *sampler = NULL;
        st_generate_result r;
        fixture_check(st_sampler_create(&sampler, &w->sampling[i], w->f.model->n_vocab, &err), &err);
        st_generate_options o = {.prompt = w->jobs[i].prompt,
                                 .n_prompt = w->jobs[i].n_prompt,
                                 .n_max = w->jobs[i].n_max,
                                 .sampler = sampler,
                                 .on_id = take_expected,
                                 .arg = &w->expected[i]};
        w->expected[i].n = 0;
        st_chain_reset(chain);
        int rc = st_generate(chain, &o, &r, &err);
        w->expected[i].finish = rc ? ST_FINISH_ERROR : r.finish;
        w->expected[i].error = err;
        if (rc) w->rc = rc;
        st_sampler_free(sampler);
    }
    st_chain_close(chain);
}

static void work_open_file(work *w, const char *path, const char *split) {
    stretto_error err = {0};
    memset(w, 0, sizeof *w);
    w->stop_job = UINT32_MAX;
    fixture_open(&w->f, path, NULL);
    fixture_unit(&w->f, 0, 1);
    fixture_unit(&w->f, 1, 1);
    fixture_check(st_split_parse(w->spans, &w->n_chunks, split, w->f.model, &err), &err);
    make_jobs(w);
}

static void work_open(work *w, const char *model, const char *split) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.gguf", ST_GOLDEN, model);
    work_open_file(w, path, split);
    run_serially(w);
    assert_int_equal(w->rc, STRETTO_OK);
}

static void work_close(work *w) {
    fixture_close(&w->f);
}

static int take_id(void *arg, uint32_t job, int32_t id) {
    work *w = arg;
    answer *a = &w->got[job];
    assert_true(a->n < N_CTX);
    assert_int_equal(a->reports, 0);
    a->ids[a->n++] = id;
    w->ids_seen++;
    if (w->stop_all_after && w->ids_seen == w->stop_all_after) atomic_store(&w->cancel, true);
    return job == w->stop_job && a->n == w->stop_at;
}

static int take_result(void *arg, const st_job_result *r) {
    work *w = arg;
    answer *a = &w->got[r->job];
    a->reports++;
    a->finish = r->finish;
    assert_true((r->error != NULL) == (r->finish == ST_FINISH_ERROR));
    if (r->error) a->error = *r->error;
    assert_int_equal(r->n_ids, a->n);
    if (r->n_ids) {
        assert_memory_equal(r->ids, a->ids, r->n_ids * sizeof *r->ids);
        assert_true(r->prefill_ns > 0 && r->first_token_ns >= r->prefill_ns && r->first_token_ns >= r->wait_ns);
    }
    w->n_reports++;
    return 0;
}

/* A station over units a, b, a, ... for its chunks. */
static st_station_options station(work *w, unsigned which, st_unit *a, st_unit *b) {
    for (uint32_t i = 0; i < w->n_chunks; i++) w->unit_of[which][i] = i < w->n_chunks / 2 ? a : b;
    return (st_station_options){.units = w->unit_of[which], .reads = true, .decodes = true};
}

static st_streams_options options_of(work *w, const st_station_options *stations, uint32_t n_stations) {
    return (st_streams_options){.model = w->f.model,
                                .spans = w->spans,
                                .n_chunks = w->n_chunks,
                                .stations = stations,
                                .n_stations = n_stations,
                                .kv_type = ST_KV_F16,
                                .n_ctx = N_CTX,
                                .n_streams = 3,
                                .cancel = &w->cancel};
}

static int run(work *w, const st_streams_options *o, stretto_error *err) {
    st_streams *streams = NULL;
    st_streams_events events = {.on_id = take_id, .on_result = take_result, .arg = w};
    memset(w->got, 0, sizeof w->got);
    w->n_reports = w->ids_seen = 0;
    fixture_check(st_streams_open(&streams, o, err), err);
    int rc = st_streams_run(streams, w->jobs, N_JOBS, &events, err);
    st_streams_close(streams);
    assert_int_equal(w->n_reports, N_JOBS);
    for (uint32_t i = 0; i < N_JOBS; i++) assert_int_equal(w->got[i].reports, 1);
    return rc;
}

static void check_job(const work *w, uint32_t i) {
    assert_int_equal(w->got[i].finish, w->expected[i].finish);
    assert_int_equal(w->got[i].n, w->expected[i].n);
    assert_memory_equal(w->got[i].ids, w->expected[i].ids, w->expected[i].n * sizeof(int32_t));
}

static void run_and_check(work *w, const st_streams_options *o) {
    stretto_error err = {0};
    int rc = run(w, o, &err);
    if (rc != w->rc) fail_msg("%d: %s", rc, err.text);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        check_job(w, i);
        assert_string_equal(w->got[i].error.text, w->expected[i].error.text);
    }
}

/* Every way to spend the numbers, over one station of two units. */
static void check_schedules(work *w) {
    st_unit *a = w->f.units[0], *b = w->f.units[1];
    st_station_options one = station(w, 0, a, a);
    st_streams_options o = options_of(w, &one, 1);
    o.n_streams = 1;
    run_and_check(w, &o); /* serial */
    o.ahead = true;
    o.depth = 2;
    run_and_check(w, &o); /* host work beside the chain */
    o.n_streams = N_JOBS;
    o.mix = true;
    run_and_check(w, &o); /* a batch, ahead */
    o.ahead = false;
    o.depth = 1;
    o.prompt_rows = 7;
    run_and_check(w, &o); /* a batch, prompts in small parts beside it */
    one = station(w, 0, a, b);
    o = options_of(w, &one, 1);
    o.rows = 1;
    o.depth = 3;
    run_and_check(w, &o); /* staged */
    o.ahead = true;
    o.depth = 6;
    o.prompt_rows = 8;
    o.prompt_depth = 3;
    run_and_check(w, &o); /* staged and ahead, micro-batches follow each other */
    o.rows = 2;
    o.mix = true;
    run_and_check(w, &o); /* staged, two streams a pass */
}

/* Stations of their own. */
static void check_stations(work *w) {
    st_station_options two[2] = {station(w, 0, w->f.units[0], w->f.units[0]),
                                 station(w, 1, w->f.units[1], w->f.units[1])};
    st_streams_options o = options_of(w, two, 2);
    run_and_check(w, &o); /* one whole model per unit */
    o.ahead = true;
    o.depth = 2;
    run_and_check(w, &o);
    two[0].decodes = two[1].reads = false;
    run_and_check(w, &o); /* prompts here, decoding there */
    o.ahead = false;
    o.mix = true;
    run_and_check(w, &o);
}

static void ids_of_a_serial_run(void **state) {
    (void)state;
    static const char *const models[] = {"tiny-llama-Q4_1", "tiny-gemma3-Q4_0", "tiny-gemma4-Q8_0"};
    for (size_t i = FIRST_TABLE(3); i < 3; i++) {
        work w;
        work_open(&w, models[i], NULL);
        check_schedules(&w);
        check_stations(&w);
        work_close(&w);
    }
}

static void speculation_changes_nothing(void **state) {
    (void)state;
    static const char *const models[] = {"tiny-llama-Q4_1", "tiny-gemma3-Q4_0"};
    for (size_t i = 0; i < 2; i++) {
        work w;
        stretto_error err = {0};
        work_open(&w, models[i], NULL);
        st_station_options one = station(&w, 0, w.f.units[0], w.f.units[0]);
        st_streams_options o = options_of(&w, &one, 1);
        o.n_streams = 1;
        o.guesses = ST_LOOKUP_MAX;
        run_and_check(&w, &o);
        o.rows = 1;
        o.n_streams = 3;
        o.depth = 3;
        run_and_check(&w, &o); /* of several streams, in turn */
        st_streams *streams = NULL;
        st_streams_events none = {0};
        fixture_check(st_streams_open(&streams, &o, &err), &err);
        fixture_check(st_streams_run(streams, w.jobs, N_JOBS, &none, &err), &err);
        assert_true(st_streams_stats_get(streams).n_guessed > 0);
        assert_true(st_streams_stats_get(streams).n_ahead > 0); /* where there is nothing to guess */
        st_streams_close(streams);
        work_close(&w);
    }
}

/* The model itself guesses on another unit: greedy guesses are all right, sampled ones need not be; they cost as much
 * as plain steps, and so there are few. Then the unit of the guesses fails, and nothing is lost. */
static void a_model_guesses(void **state) {
    (void)state;
    static const char *const models[] = {"tiny-llama-Q4_1", "tiny-gemma3-Q4_0"};
    for (size_t i = 0; i < 2; i++) {
        work w;
        stretto_error err = {0};
        st_chain *drafts[2];
        work_open(&w, models[i], NULL);
        frail bad = frail_make(0, 0);
        bad.queue.unit = &bad.unit;
        st_unit *guessing[1] = {&bad.unit};
        st_span all[1] = {{0, w.f.model->n_layers - 1}};
        st_chain_options c = {.model = w.f.model, .spans = all, .n_chunks = 1, .units = guessing, .n_ctx = N_CTX};
        for (int d = 0; d < 2; d++) fixture_check(st_chain_open(&drafts[d], &c, &err), &err);
        st_station_options one = station(&w, 0, w.f.units[0], w.f.units[0]);
        st_streams_options o = options_of(&w, &one, 1);
        st_streams_events none = {0};
        st_streams *streams = NULL;
        o.n_streams = 2;
        o.rows = 1;
        o.guesses = 5;
        o.drafts = drafts;
        run_and_check(&w, &o);
        fixture_check(st_streams_open(&streams, &o, &err), &err);
        w.jobs[0].sampler = NULL;
        fixture_check(st_streams_run(streams, w.jobs, 1, &none, &err), &err);
        assert_true(st_streams_stats_get(streams).n_guessed > 0);
        assert_int_equal(st_streams_stats_get(streams).n_right, st_streams_stats_get(streams).n_guessed);
        st_streams_close(streams);
        w.jobs[0].sampler = &w.sampling[0];
        bad.fails_at = bad.submitted + 2;
        run_and_check(&w, &o);
        bad.fails_at = bad.submitted + 2; /* its guesses are lost for good: nobody waits for them */
        fixture_check(st_streams_open(&streams, &o, &err), &err);
        fixture_check(st_streams_run(streams, w.jobs, 1, &none, &err), &err);
        assert_true(st_streams_stats_get(streams).n_ahead > 0);
        st_streams_close(streams);
        for (int d = 0; d < 2; d++) st_chain_close(drafts[d]);
        work_close(&w);
    }
}

/* The first job alone, guessed by its own model on another unit: how many steps of the draft were done while the prompt
 * was read or a step was under way. */
static uint64_t steps_beside(work *w, st_chain *const *drafts) {
    stretto_error err = {0};
    st_streams_events none = {0};
    st_streams *streams = NULL;
    st_station_options one = station(w, 0, w->f.units[0], w->f.units[0]);
    st_streams_options o = options_of(w, &one, 1);
    o.n_streams = o.rows = 1;
    o.guesses = 5;
    o.drafts = drafts;
    fixture_check(st_streams_open(&streams, &o, &err), &err);
    fixture_check(st_streams_run(streams, w->jobs, 1, &none, &err), &err);
    uint64_t n = st_streams_stats_get(streams).n_beside;
    st_streams_close(streams);
    return n;
}

/* It reads the prompt beside the model, on a lane of its own (what more it does depends on what that costs, see
 * predict_test.c); streams are cancelled while it works. */
static void a_model_guesses_meanwhile(void **state) {
    (void)state;
    work w;
    stretto_error err = {0};
    st_chain *drafts[3];
    work_open(&w, "tiny-llama-Q4_1", NULL);
    st_unit *guessing[1] = {w.f.units[1]};
    st_span all[1] = {{0, w.f.model->n_layers - 1}};
    st_chain_options c = {.model = w.f.model, .spans = all, .n_chunks = 1, .units = guessing, .n_ctx = N_CTX};
    for (int d = 0; d < 3; d++) fixture_check(st_chain_open(&drafts[d], &c, &err), &err);
    unsigned tries = 100;                                       /* of a busy machine */
    while (tries > 0 && steps_beside(&w, drafts) == 0) tries--; /* the prompt's own step */
    assert_true(tries > 0);
    st_station_options one = station(&w, 0, w.f.units[0], w.f.units[0]);
    st_streams_options o = options_of(&w, &one, 1);
    o.rows = 1;
    o.depth = 3;
    o.guesses = 5;
    o.drafts = drafts;
    run_and_check(&w, &o);
    w.stop_job = 3;
    w.stop_at = 4;
    fixture_check(run(&w, &o, &err), &err);
    assert_int_equal(w.got[3].finish, ST_FINISH_STOPPED);
    for (uint32_t i = 0; i < N_JOBS; i++)
        if (i != 3) check_job(&w, i);
    w.stop_job = UINT32_MAX;
    w.stop_all_after = 20;
    assert_int_equal(run(&w, &o, &err), STRETTO_E_STOPPED);
    atomic_store(&w.cancel, false);
    w.stop_all_after = 0;
    run_and_check(&w, &o); /* the drafts are as good as new */
    for (int d = 0; d < 3; d++) st_chain_close(drafts[d]);
    work_close(&w);
}

/* One stream ends while its step is under way; the others do not notice. */
static void one_stream_cancelled(void **state) {
    (void)state;
    work w;
    work_open(&w, "tiny-llama-Q4_1", NULL);
    st_station_options one = station(&w, 0, w.f.units[0], w.f.units[1]);
    st_streams_options o = options_of(&w, &one, 1);
    o.rows = 1;
    o.depth = 6;
    o.ahead = true; /* the step after the last wanted one is in flight already */
    w.stop_job = 3;
    w.stop_at = 4;
    stretto_error err = {0};
    fixture_check(run(&w, &o, &err), &err);
    assert_int_equal(w.got[3].finish, ST_FINISH_STOPPED);
    assert_int_equal(w.got[3].n, 4);
    assert_memory_equal(w.got[3].ids, w.expected[3].ids, 4 * sizeof(int32_t));
    for (uint32_t i = 0; i < N_JOBS; i++)
        if (i != 3) check_job(&w, i);
    work_close(&w);
}

static void everything_cancelled(void **state) {
    (void)state;
    work w;
    work_open(&w, "tiny-llama-Q4_1", NULL);
    st_station_options one = station(&w, 0, w.f.units[0], w.f.units[0]);
    st_streams_options o = options_of(&w, &one, 1);
    uint32_t finished = 0, untouched = 0;
    w.stop_all_after = 20;
    stretto_error err = {0};
    assert_int_equal(run(&w, &o, &err), STRETTO_E_STOPPED);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        if (w.got[i].finish == ST_FINISH_STOPPED)
            assert_memory_equal(w.got[i].ids, w.expected[i].ids, w.got[i].n * sizeof(int32_t));
        else
            check_job(&w, i), finished++;
        untouched += w.got[i].n == 0;
    }
    assert_true(finished < N_JOBS && untouched > 0);
    work_close(&w);
}

/* ---- numbers that are lost ---- */

#define SPOILT "tiny-gemma4-F32"
#define TABLE "per_layer_token_embd.weight"
#define ROW_ITEMS (9 * 32)

/* The model with one token's row of a table spoilt: it holds what is no number, or what overflows later on. */
static void open_spoilt(work *w, uint32_t token, bool overflows) {
    char original[512], path[64];
    stretto_error err = {0};
    st_gguf *g = NULL;
    rewrite change = {.poison_tensor = TABLE, .poison_at = token * ROW_ITEMS * sizeof(float) + 6};
    if (overflows)
        change = (rewrite){.flood_tensor = TABLE,
                           .flood_value = 3e38f,
                           .flood_from = (size_t)token * ROW_ITEMS,
                           .flood_count = ROW_ITEMS};
    snprintf(original, sizeof original, "%s/%s.gguf", ST_GOLDEN, SPOILT);
    snprintf(path, sizeof path, "/tmp/stretto-streams-%d.gguf", (int)getpid());
    fixture_check(st_gguf_open(&g, original, NULL, &err), &err);
    rewrite_file(g, path, &change);
    st_gguf_close(g);
    work_open_file(w, path, NULL);
    unlink(path);
}

/* The token that is spoilt comes up while job 0 decodes, and stands in the prompts of jobs 1 and 3. */
static void spoil(work *w, uint32_t token, bool overflows) {
    uint32_t n_fine = 0;
    open_spoilt(w, token, overflows);
    w->prompts[1][4] = w->prompts[3][47] = (int32_t)token;
    run_serially(w);
    assert_int_equal(w->rc, STRETTO_E_INPUT);
    for (uint32_t i = 0; i < N_JOBS; i++) n_fine += w->expected[i].finish != ST_FINISH_ERROR;
    assert_true(n_fine >= 2 && w->expected[0].finish == ST_FINISH_ERROR && w->expected[0].n > 0);
    assert_non_null(strstr(w->expected[1].error.text, overflows ? "no finite numbers" : TABLE));
    assert_int_equal(w->expected[1].n + w->expected[3].n, 0);
}

/* What one stream's rows come to is nothing to the others, in whatever pass they are together. */
static void lost_numbers_end_their_stream_only(void **state) {
    (void)state;
    work w;
    work_open(&w, SPOILT, NULL);
    uint32_t token = (uint32_t)w.expected[0].ids[5];
    work_close(&w);
    for (int overflows = 0; overflows < 2; overflows++) {
        spoil(&w, token, overflows);
        check_schedules(&w);
        check_stations(&w);
        st_station_options one = station(&w, 0, w.f.units[0], w.f.units[0]);
        st_streams_options o = options_of(&w, &one, 1);
        o.guesses = ST_LOOKUP_MAX;
        o.rows = 1;
        o.depth = 3;
        run_and_check(&w, &o);
        work_close(&w);
    }
}

/* ---- units that fail ---- */

static void unit_fails(unsigned fails_at, unsigned refuses_at, bool other_left) {
    work w;
    work_open(&w, "tiny-llama-Q4_1", NULL);
    frail bad = frail_make(fails_at, refuses_at);
    bad.queue.unit = &bad.unit;
    st_station_options two[2] = {station(&w, 0, &bad.unit, &bad.unit), station(&w, 1, w.f.units[1], w.f.units[1])};
    st_streams_options o = options_of(&w, two, other_left ? 2 : 1);
    stretto_error err = {0};
    uint32_t failed = 0;
    assert_int_equal(run(&w, &o, &err), STRETTO_E_UNIT);
    assert_non_null(strstr(err.text, "frail:0"));
    for (uint32_t i = 0; i < N_JOBS; i++) {
        if (w.got[i].finish != ST_FINISH_ERROR) {
            check_job(&w, i);
            continue;
        }
        failed++;
        assert_non_null(strstr(w.got[i].error.text, "frail:0"));
        assert_memory_equal(w.got[i].ids, w.expected[i].ids, w.got[i].n * sizeof(int32_t));
    }
    assert_true(other_left ? failed >= 1 && failed <= 3 : failed >= N_JOBS - 3);
    work_close(&w);
}

/* The unit that decodes is lost: what was read there ends, and no other prompt is begun. */
static void decoding_unit_fails(void) {
    work w;
    work_open(&w, "tiny-llama-Q4_1", NULL);
    frail bad = frail_make(10, 0);
    bad.queue.unit = &bad.unit;
    st_station_options two[2] = {station(&w, 0, w.f.units[0], w.f.units[0]), station(&w, 1, &bad.unit, &bad.unit)};
    two[0].decodes = two[1].reads = false;
    st_streams_options o = options_of(&w, two, 2);
    stretto_error err = {0};
    uint32_t failed = 0;
    assert_int_equal(run(&w, &o, &err), STRETTO_E_UNIT);
    for (uint32_t i = 0; i < N_JOBS; i++) {
        failed += w.got[i].finish == ST_FINISH_ERROR;
        if (w.got[i].finish != ST_FINISH_ERROR) check_job(&w, i);
    }
    assert_true(failed >= 3);
    assert_int_equal(w.got[N_JOBS - 1].n, 0);
    work_close(&w);
}

static void units_fail(void **state) {
    (void)state;
    decoding_unit_fails();
    for (unsigned at = 1; at < 30; at += 5) {
        unit_fails(at, 0, true);
        unit_fails(0, at, true);
    }
    unit_fails(3, 0, false);
    unit_fails(0, 6, false);
}

/* ---- what cannot be ---- */

static void refused(const st_streams_options *o, const char *says) {
    st_streams *streams = NULL;
    stretto_error err = {0};
    assert_int_equal(st_streams_open(&streams, o, &err), STRETTO_E_USAGE);
    if (!strstr(err.text, says)) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_null(streams);
}

static void wrong_options(void **state) {
    (void)state;
    work w;
    work_open(&w, "tiny-llama-Q4_1", NULL);
    st_station_options one = station(&w, 0, w.f.units[0], w.f.units[0]);
    const st_streams_options good = options_of(&w, &one, 1);
    st_streams_options o = good;
    o.n_streams = 0;
    refused(&o, "0 streams");
    o = good;
    o.n_ctx = 0;
    refused(&o, "0 positions");
    o = good;
    o.guesses = 4;
    refused(&o, "a pass of its own");
    o = good;
    o.depth = 100;
    refused(&o, "100 passes");
    o = good;
    o.n_stations = 0;
    refused(&o, "0 stations");
    one.reads = false;
    refused(&good, "reads prompts");
    work_close(&w);
}

static void wrong_prompts(void **state) {
    (void)state;
    work w;
    stretto_error err = {0};
    work_open(&w, "tiny-llama-Q4_1", NULL);
    st_station_options one = station(&w, 0, w.f.units[0], w.f.units[0]);
    st_streams_options o = options_of(&w, &one, 1);
    st_streams *streams = NULL;
    st_streams_events events = {.on_result = take_result, .arg = &w};
    o.n_ctx = 47;
    fixture_check(st_streams_open(&streams, &o, &err), &err);
    assert_int_equal(st_streams_run(streams, w.jobs, N_JOBS, &events, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "prompt 3 has 48 tokens"));
    w.jobs[3].n_prompt = 0;
    assert_int_equal(st_streams_run(streams, w.jobs, N_JOBS, &events, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "prompt 3 is empty"));
    w.prompts[1][4] = -1;
    assert_int_equal(st_streams_run(streams, w.jobs, N_JOBS, &events, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "id -1 at position 4"));
    assert_int_equal(w.n_reports, 0);
    st_streams_close(streams);
    work_close(&w);
}

/* All streams' KV counts, and working memory beside it. */
static void streams_that_do_not_fit_are_refused(void **state) {
    (void)state;
    work w;
    stretto_error err = {0};
    st_streams *streams = NULL;
    work_open(&w, "tiny-llama-Q4_1", NULL);
    st_station_options one = station(&w, 0, w.f.units[0], w.f.units[0]);
    st_streams_options o = options_of(&w, &one, 1);
    fixture_check(st_streams_open(&streams, &o, &err), &err);
    const uint64_t need = w.f.model->weights.bytes + st_streams_kv_bytes(streams);
    st_streams_close(streams);
    w.f.model->memory = need; /* nothing is left for the rest */
    assert_int_equal(st_streams_open(&streams, &o, &err), STRETTO_E_MEMORY);
    assert_null(streams);
    assert_non_null(strstr(err.text, "the KV of 3 streams of "));
    assert_non_null(strstr(err.text, "fewer streams, takes less"));
    o.n_streams = 2;
    w.f.model->memory = need + (64 << 20);
    fixture_check(st_streams_open(&streams, &o, &err), &err);
    st_streams_close(streams);
    work_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_that_do_not_fit_are_refused),
        cmocka_unit_test(ids_of_a_serial_run),
        cmocka_unit_test(speculation_changes_nothing),
        cmocka_unit_test(a_model_guesses),
        cmocka_unit_test(a_model_guesses_meanwhile),
        cmocka_unit_test(one_stream_cancelled),
        cmocka_unit_test(everything_cancelled),
        cmocka_unit_test(lost_numbers_end_their_stream_only),
        cmocka_unit_test(units_fail),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(wrong_prompts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
