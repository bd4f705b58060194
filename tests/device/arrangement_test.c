/* SPDX-License-Identifier: MIT
 * Results do not depend on the arrangement: any split into chunks, lane layout, thread count and batching gives the
 * same logits, bit for bit; a reset chain is as good as a new one; going back and on again changes nothing. */
#include "support/fixture.h"

#include "device/chain_impl.h"

#define N_IDS 48

typedef struct logits {
    float *rows; /* [n][n_vocab] */
    uint32_t n, width;
} logits;

static int keep_logits(void *arg, uint32_t pos, const float *row, int32_t argmax) {
    (void)argmax;
    logits *l = arg;
    memcpy(l->rows + (size_t)pos * l->width, row, l->width * sizeof *row);
    l->n++;
    return 0;
}

static logits logits_new(uint32_t width) {
    logits l = {.rows = calloc((size_t)N_IDS * width, sizeof(float)), .width = width};
    assert_non_null(l.rows);
    return l;
}

static void logits_equal(const logits *a, const logits *b, const char *what) {
    assert_int_equal(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++)
        if (memcmp(a->rows + (size_t)i * a->width, b->rows + (size_t)i * a->width, a->width * sizeof(float)))
            fail_msg("%s: logits of position %u differ", what, i);
}

/* All logits of the model's golden ids, `batch` tokens at a time. */
static logits run(fixture *f, const int32_t *ids, const char *split, enum st_kv_type kv, uint32_t batch) {
    stretto_error err = {0};
    st_chain *chain = fixture_chain(f, split, kv, 64, batch, batch, NULL);
    logits l = logits_new(f->model->n_vocab);
    fixture_check(st_chain_forward(chain, ids, N_IDS, ST_WANT_ALL, keep_logits, &l, &err), &err);
    assert_int_equal(l.n, N_IDS);
    st_chain_close(chain);
    return l;
}

static int32_t *open_golden(fixture *f, const char *name, const char *kern) {
    char path[512], file[128];
    snprintf(path, sizeof path, "%s/%s.gguf", ST_GOLDEN, name);
    snprintf(file, sizeof file, "%s.json", name);
    fixture_open(f, path, kern);
    json_t *json = golden_load(file);
    uint32_t n;
    int32_t *ids = golden_ids(json_object_get(json, "ids"), &n);
    json_decref(json);
    assert_int_equal(n, N_IDS);
    return ids;
}

/* Races do not depend on the types of weights, and one thread has none: the thread sanitizer, which is slow, gets a
 * model of each kind and few arrangements of one thread. */
#ifdef __SANITIZE_THREAD__
static const char *const models[] = {"tiny-llama-Q4_1", "tiny-gemma4-F32"};
static const uint32_t batches[] = {7};
enum { N_SPLITS = 1, N_WINDOWED = 1 };
#else
static const char *const models[] = {"tiny-llama-F32", "tiny-llama-Q4_1", "tiny-llama-Q8_0", "tiny-gemma3-Q4_0",
                                     "tiny-qwen2-F16", "tiny-qwen3-Q5_0", "tiny-gemma4-F32", "tiny-gemma4w-Q4_K_M"};
static const uint32_t batches[] = {1, 2, 3, 7, 16, 17, 31};
enum { N_SPLITS = 5, N_WINDOWED = 3 };
#endif
#define N_MODELS (sizeof models / sizeof *models)

static void compare(fixture *f, const int32_t *ids, const char *split, enum st_kv_type kv, uint32_t batch,
                    const logits *expected, const char *what) {
    logits found = run(f, ids, split, kv, batch);
    logits_equal(expected, &found, what);
    free(found.rows);
}

/* One lane of one thread, one chunk, whole prefill; against everything else. */
static void arrangements(const char *name, const char *kern, enum st_kv_type kv) {
    fixture f;
    int32_t *ids = open_golden(&f, name, kern);
    char all[16], what[128];
    snprintf(all, sizeof all, "%u", f.model->n_layers);
    const char *const splits[] = {NULL, "1", "2", "3", all};
    fixture_unit(&f, 0, 1);
    logits expected = run(&f, ids, "1", kv, N_IDS);
    for (size_t s = 0; s < N_SPLITS; s++)
        compare(&f, ids, splits[s], kv, N_IDS, &expected, splits[s] ? splits[s] : "default split");
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        snprintf(what, sizeof what, "%s %s, %u tokens at a time", name, kern, batches[b]);
        compare(&f, ids, NULL, kv, batches[b], &expected, what);
    }
    fixture_close_units(&f);
    fixture_unit(&f, 0, 2);
    compare(&f, ids, NULL, kv, N_IDS, &expected, "two threads");
    compare(&f, ids, NULL, kv, 1, &expected, "two threads, token by token");
    fixture_close_units(&f);
    fixture_unit(&f, 0, 1);
    fixture_unit(&f, 1, 1);
    compare(&f, ids, NULL, kv, N_IDS, &expected, "two lanes");
    compare(&f, ids, all, kv, 1, &expected, "two lanes, a layer a chunk, token by token");
    free(expected.rows);
    free(ids);
    fixture_close(&f);
}

static void bit_equal(void **state) {
    (void)state;
    const st_kern *tables[8];
    size_t n = st_kern_list(tables, 8);
    for (size_t t = FIRST_TABLE(n); t < n; t++)
        for (size_t i = 0; i < N_MODELS; i++) {
            arrangements(models[i], tables[t]->name, ST_KV_F16);
            if (i == 0) arrangements(models[i], tables[t]->name, ST_KV_F32);
        }
}

/* Far beyond the window (16): a ring that has wrapped several times against one that never does. */
static void rings_wrap(void **state) {
    (void)state;
    static const char *const windowed[] = {"tiny-gemma3-F32", "tiny-gemma4-F32", "tiny-gemma4w-Q4_K_M"};
    enum { LONG = 300 };
    for (size_t i = 0; i < N_WINDOWED; i++) {
        fixture f;
        stretto_error err = {0};
        int32_t *ids = open_golden(&f, windowed[i], NULL), many[LONG];
        for (int t = 0; t < LONG; t++) many[t] = ids[1 + t * 7 % (N_IDS - 1)];
        fixture_unit(&f, 0, 1);
        st_chain *flat = fixture_chain(&f, NULL, ST_KV_F16, 320, 320, 1, NULL);
        st_chain *ring = fixture_chain(&f, NULL, ST_KV_F16, 320, 5, 1, NULL);
        assert_true(st_chain_kv_bytes(ring) < st_chain_kv_bytes(flat));
        fixture_check(st_chain_forward(flat, many, LONG, ST_WANT_LAST, NULL, NULL, &err), &err);
        fixture_check(st_chain_forward(ring, many, LONG, ST_WANT_LAST, NULL, NULL, &err), &err);
        assert_memory_equal(st_chain_logits(flat), st_chain_logits(ring), f.model->n_vocab * sizeof(float));
        fixture_check(st_chain_truncate(flat, LONG - 9, &err), &err);
        fixture_check(st_chain_truncate(ring, LONG - 9, &err), &err);
        /* Position 245 sees 230, whose place (there are 64) position 294 took, which is forgotten only by now. */
        assert_int_equal(st_chain_truncate(ring, 245, &err), STRETTO_E_USAGE);
        fixture_check(st_chain_forward(ring, many + LONG - 9, 9, ST_WANT_LAST, NULL, NULL, &err), &err);
        assert_memory_equal(st_chain_logits(flat), st_chain_logits(ring), f.model->n_vocab * sizeof(float));
        assert_int_equal(st_chain_truncate(ring, 100, &err), STRETTO_E_USAGE);
        st_chain_close(flat);
        st_chain_close(ring);
        free(ids);
        fixture_close(&f);
    }
}

/* No numbers wherever keys and values stand. */
static void poison(st_chain *chain) {
    for (uint32_t i = 0; i < chain->stream->n_chunks; i++)
        memset(chain->stream->kv[i]->memory, 0xff, chain->stream->kv[i]->bytes);
}

static void reset_is_fresh(void **state) {
    (void)state;
    for (size_t i = 0; i < N_MODELS; i++) {
        fixture f;
        stretto_error err = {0};
        int32_t *ids = open_golden(&f, models[i], NULL);
        fixture_unit(&f, 0, 1);
        logits expected = run(&f, ids, NULL, ST_KV_F16, 16);
        st_chain *chain = fixture_chain(&f, NULL, ST_KV_F16, 64, 16, 16, NULL);
        fixture_check(st_chain_forward(chain, ids + 5, 40, ST_WANT_LAST, NULL, NULL, &err), &err);
        poison(chain);
        st_chain_reset(chain);
        assert_int_equal(st_chain_length(chain), 0);
        logits found = logits_new(f.model->n_vocab);
        fixture_check(st_chain_forward(chain, ids, N_IDS, ST_WANT_ALL, keep_logits, &found, &err), &err);
        logits_equal(&expected, &found, models[i]);
        st_chain_close(chain);
        free(expected.rows);
        free(found.rows);
        free(ids);
        fixture_close(&f);
    }
}

/* Going back over a wrong guess, then on with the right ids; also inside sliding windows (16 here). */
static void truncate_and_go_on(void **state) {
    (void)state;
    for (size_t i = 0; i < N_MODELS; i++) {
        fixture f;
        stretto_error err = {0};
        int32_t *ids = open_golden(&f, models[i], NULL);
        fixture_unit(&f, 0, 1);
        logits expected = run(&f, ids, NULL, ST_KV_F16, 8), found = logits_new(f.model->n_vocab);
        st_chain *chain = fixture_chain(&f, NULL, ST_KV_F16, 64, 8, 8, NULL);
        int32_t wrong[] = {11, 12, 13, 14, 15};
        for (uint32_t at = 0; at < N_IDS; at += 8) {
            fixture_check(st_chain_forward(chain, wrong, 5, ST_WANT_LAST, NULL, NULL, &err), &err);
            fixture_check(st_chain_truncate(chain, at, &err), &err);
            fixture_check(st_chain_forward(chain, ids + at, 8, ST_WANT_ALL, keep_logits, &found, &err), &err);
        }
        logits_equal(&expected, &found, models[i]);
        assert_int_equal(st_chain_truncate(chain, N_IDS + 1, &err), STRETTO_E_USAGE);
        st_chain_close(chain);
        free(expected.rows);
        free(found.rows);
        free(ids);
        fixture_close(&f);
    }
}

static void refusals(void **state) {
    (void)state;
    fixture f;
    stretto_error err = {0};
    int32_t *ids = open_golden(&f, "tiny-gemma3-F32", NULL), bad[] = {1, 448};
    fixture_unit(&f, 0, 1);
    st_chain *chain = fixture_chain(&f, NULL, ST_KV_F16, 40, 8, 1, NULL);
    assert_int_equal(st_chain_forward(chain, bad, 2, ST_WANT_LAST, NULL, NULL, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "448"));
    assert_int_equal(st_chain_length(chain), 0);
    assert_int_equal(st_chain_forward(chain, ids, N_IDS, ST_WANT_LAST, NULL, NULL, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "8 too many"));
    fixture_check(st_chain_forward(chain, ids, 40, ST_WANT_LAST, NULL, NULL, &err), &err);
    st_chain_close(chain);
    free(ids);
    fixture_close(&f);
}

/* A wish to stop is met before the next micro-batch; what was done stays. */
static int stop_at_ten(void *arg, uint32_t pos, const float *row, int32_t argmax) {
    (void)row;
    (void)argmax;
    if (pos == 10) atomic_store((atomic_bool *)arg, true);
    return 0;
}

static void stops_between_batches(void **state) {
    (void)state;
    fixture f;
    stretto_error err = {0};
    atomic_bool stop = false;
    int32_t *ids = open_golden(&f, "tiny-llama-Q4_1", NULL);
    f.stop = &stop;
    fixture_unit(&f, 0, 1);
    st_chain *chain = fixture_chain(&f, NULL, ST_KV_F16, 64, 8, 8, NULL);
    assert_int_equal(st_chain_forward(chain, ids, N_IDS, ST_WANT_ALL, stop_at_ten, &stop, &err), STRETTO_E_STOPPED);
    assert_int_equal(st_chain_length(chain), 16);
    atomic_store(&stop, false);
    fixture_check(st_chain_forward(chain, ids + 16, N_IDS - 16, ST_WANT_LAST, NULL, NULL, &err), &err);
    logits all = run(&f, ids, NULL, ST_KV_F16, 16);
    assert_memory_equal(all.rows + (size_t)(N_IDS - 1) * all.width, st_chain_logits(chain), all.width * sizeof(float));
    st_chain_close(chain);
    free(all.rows);
    free(ids);
    fixture_close(&f);
}

/* A stand-alone step computes what the chain computes, however often it runs. */
static void steps_stand_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < N_MODELS; i++) {
        fixture f;
        stretto_error err = {0};
        int32_t *ids = open_golden(&f, models[i], NULL);
        st_unit *unit = fixture_unit(&f, 0, 1);
        st_chain *chain = fixture_chain(&f, "3", ST_KV_F16, 64, 8, 1, NULL);
        fixture_check(st_chain_forward(chain, ids, 30, ST_WANT_LAST, NULL, NULL, &err), &err);
        st_chunk_step *step = NULL;
        fixture_check(st_chunk_step_create(&step, chain, 2, ids, 30, 1, 0, &err), &err);
        st_queue *queue = NULL;
        fixture_check(st_queue_open(unit, &queue, &err), &err);
        st_event event;
        st_event_init(&event);
        for (int again = 0; again < 3; again++) {
            fixture_check(st_run_step(queue, st_chunk_step_get(step), &event, &err), &err);
            assert_memory_equal(st_chunk_step_logits(step), st_chain_logits(chain), f.model->n_vocab * sizeof(float));
        }
        assert_true(st_chunk_step_get(step)->bytes > st_chain_chunk(chain, 2)->bytes);
        st_queue_close(queue);
        st_chunk_step_free(step);
        assert_int_equal(st_chunk_step_create(&step, chain, 3, ids, 30, 1, 0, &err), STRETTO_E_USAGE);
        assert_non_null(strstr(err.text, "no chunk 4: the model has 3 (1 to 3)"));
        st_chain_close(chain);
        free(ids);
        fixture_close(&f);
    }
}

/* A long context is read in several calls, and not further once the chain is to stop. */
static void steps_stop_in_their_context(void **state) {
    (void)state;
    fixture f;
    stretto_error err = {0};
    atomic_bool stop = true;
    int32_t *ids = open_golden(&f, "tiny-llama-Q4_1", NULL), many[200];
    for (unsigned i = 0; i < 200; i++) many[i] = ids[i % N_IDS];
    f.stop = &stop;
    st_unit *unit = fixture_unit(&f, 0, 1);
    st_chain *chain = fixture_chain(&f, "3", ST_KV_F16, 256, 8, 1, NULL);
    st_chunk_step *step = NULL;
    assert_int_equal(st_chunk_step_create(&step, chain, 2, many, 200, 3, 0, &err), STRETTO_E_STOPPED);
    assert_null(step);
    assert_non_null(strstr(err.text, "after 0 of 197 tokens of context"));
    atomic_store(&stop, false);
    fixture_check(st_chunk_step_create(&step, chain, 2, many, 200, 3, 0, &err), &err);
    st_queue *queue = NULL;
    st_event event;
    st_event_init(&event);
    fixture_check(st_queue_open(unit, &queue, &err), &err);
    fixture_check(st_run_step(queue, st_chunk_step_get(step), &event, &err), &err);
    fixture_check(st_chain_forward(chain, many, 198, ST_WANT_LAST, NULL, NULL, &err), &err);
    assert_memory_equal(st_chunk_step_logits(step), st_chain_logits(chain), f.model->n_vocab * sizeof(float));
    st_queue_close(queue);
    st_chunk_step_free(step);
    st_chain_close(chain);
    free(ids);
    fixture_close(&f);
}

/* All of the rest once, then no more than it takes. */
static void the_rest_is_streamed_once_and_as_often_as_asked(void **state) {
    (void)state;
    for (size_t i = 0; i < N_MODELS; i++) {
        fixture f;
        int32_t *ids = open_golden(&f, models[i], NULL);
        fixture_unit(&f, 0, 1);
        st_chain *chain = fixture_chain(&f, "3", ST_KV_F16, 64, 8, 1, NULL);
        const uint32_t list[] = {0, 1, 2};
        uint64_t all = st_chain_stream_weights(chain, NULL, 0, 0), parts = 0;
        for (uint32_t c = 0; c < 3; c++) {
            uint64_t rest = st_chain_stream_weights(chain, &list[c], 1, 0);
            assert_true(rest > 0 && rest < all);
            parts += all - rest;
            assert_int_equal(st_chain_stream_weights(chain, &list[c], 1, rest), rest);
            uint64_t more = st_chain_stream_weights(chain, &list[c], 1, 2 * rest + 64);
            assert_true(more >= 2 * rest + 64 && more < 3 * rest);
        }
        assert_int_equal(parts, all);
        assert_int_equal(st_chain_stream_weights(chain, list, 3, 1000), 0);
        st_chain_close(chain);
        free(ids);
        fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bit_equal),
                                       cmocka_unit_test(rings_wrap),
                                       cmocka_unit_test(reset_is_fresh),
                                       cmocka_unit_test(truncate_and_go_on),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(stops_between_batches),
                                       cmocka_unit_test(steps_stand_alone),
                                       cmocka_unit_test(steps_stop_in_their_context),
                                       cmocka_unit_test(the_rest_is_streamed_once_and_as_often_as_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
