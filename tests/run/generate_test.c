/* SPDX-License-Identifier: MIT
 * Generation on a tiny model whose greedy ids are known. */
#include "run/generate.h"

#include "base/clock.h"
#include "support/fixture.h"

#define MODEL "tiny-llama-F32"

typedef struct work {
    fixture f;
    st_chain *chain;
    st_tokenizer *tok;
    int32_t *prompt, *greedy;
    uint32_t n_prompt, n_greedy;
    int32_t ids[64];
    uint32_t reads[8], n_reads; /* what was told while the prompt was read */
    uint32_t n_ids, stop_after;
    atomic_bool cancel;
    bool cancel_in_callback;
} work;

static void work_open(work *w, uint32_t n_ctx) {
    stretto_error err = {0};
    memset(w, 0, sizeof *w);
    fixture_open(&w->f, ST_GOLDEN "/" MODEL ".gguf", "scalar");
    fixture_unit(&w->f, 0, 2);
    fixture_check(st_tokenizer_create(&w->tok, w->f.gguf, NULL, &err), &err);
    w->chain = fixture_chain(&w->f, NULL, ST_KV_F32, n_ctx, 32, 0, NULL);
    json_t *golden = golden_load(MODEL ".json");
    w->prompt = golden_ids(json_object_get(golden, "ids"), &w->n_prompt);
    w->greedy = golden_ids(json_object_get(golden, "greedy"), &w->n_greedy);
    json_decref(golden);
}

static void work_close(work *w) {
    free(w->prompt);
    free(w->greedy);
    st_chain_close(w->chain);
    st_tokenizer_destroy(w->tok);
    fixture_close(&w->f);
}

static int take(void *arg, int32_t id) {
    work *w = arg;
    assert_true(w->n_ids < 64);
    w->ids[w->n_ids++] = id;
    if (w->cancel_in_callback) atomic_store(&w->cancel, true);
    return w->stop_after && w->n_ids == w->stop_after;
}

static void note_read(void *arg, uint32_t n) {
    work *w = arg;
    assert_int_equal(w->n_ids, 0);
    assert_true(w->n_reads < 8);
    w->reads[w->n_reads++] = n;
}

static st_generate_options options_of(work *w, uint32_t n_max) {
    return (st_generate_options){
        .prompt = w->prompt, .n_prompt = w->n_prompt, .n_max = n_max, .on_id = take, .arg = w, .cancel = &w->cancel};
}

static void test_greedy_ids_and_times(void **state) {
    (void)state;
    work w;
    work_open(&w, 128);
    st_generate_options options = options_of(&w, w.n_greedy);
    st_generate_result r;
    stretto_error err = {0};
    uint64_t before = st_now_ns();
    assert_int_equal(st_generate(w.chain, &options, &r, &err), 0);
    uint64_t took = st_now_ns() - before;
    assert_int_equal(w.n_ids, w.n_greedy);
    assert_memory_equal(w.ids, w.greedy, w.n_greedy * sizeof *w.greedy);
    assert_int_equal(r.finish, ST_FINISH_LENGTH);
    assert_int_equal(r.n_prompt, w.n_prompt);
    assert_int_equal(r.n_generated, w.n_greedy);
    assert_true(r.prefill_ns > 0 && r.prefill_ns <= r.first_token_ns);
    assert_true(r.first_token_ns + r.decode_ns <= took);
    assert_true(st_generate_decode_rate(&r) == (double)(w.n_greedy - 1) * 1e9 / (double)r.decode_ns);
    assert_true(st_generate_prefill_rate(&r) == (double)w.n_prompt * 1e9 / (double)r.prefill_ns);
    assert_int_equal(st_chain_length(w.chain), w.n_prompt + w.n_greedy - 1);
    work_close(&w);
}

/* The prompt in small pieces, and a prompt handed over earlier. */
static void test_batches_and_handed_over_time(void **state) {
    (void)state;
    work w;
    work_open(&w, 128);
    st_generate_options options = options_of(&w, 4);
    options.n_batch = 5;
    options.handed_ns = st_now_ns() - 1000000000u;
    st_generate_result r;
    stretto_error err = {0};
    assert_int_equal(st_generate(w.chain, &options, &r, &err), 0);
    assert_memory_equal(w.ids, w.greedy, 4 * sizeof *w.greedy);
    assert_true(r.first_token_ns >= 1000000000u + r.prefill_ns);
    work_close(&w);
}

/* Between its parts, and not when all of it is read. */
static void test_reading_is_told(void **state) {
    (void)state;
    work w;
    work_open(&w, 128);
    st_generate_options options = options_of(&w, 4);
    options.on_read = note_read;
    options.n_batch = w.n_prompt / 3;
    st_generate_result r;
    stretto_error err = {0};
    assert_int_equal(st_generate(w.chain, &options, &r, &err), 0);
    assert_int_equal(w.n_prompt % 3, 0);
    assert_int_equal(w.n_reads, 2);
    assert_int_equal(w.reads[0], w.n_prompt / 3);
    assert_int_equal(w.reads[1], w.n_prompt / 3 * 2);
    assert_memory_equal(w.ids, w.greedy, 4 * sizeof *w.greedy);
    work_close(&w);
}

static void test_nothing_to_generate(void **state) {
    (void)state;
    work w;
    work_open(&w, 128);
    st_generate_options options = options_of(&w, 0);
    st_generate_result r;
    stretto_error err = {0};
    assert_int_equal(st_generate(w.chain, &options, &r, &err), 0);
    assert_int_equal(w.n_ids, 0);
    assert_int_equal(r.finish, ST_FINISH_LENGTH);
    assert_int_equal(r.first_token_ns, 0);
    assert_true(st_generate_decode_rate(&r) == 0);
    assert_int_equal(st_chain_length(w.chain), w.n_prompt);
    work_close(&w);
}

static void test_context_fills(void **state) {
    (void)state;
    work w;
    work_open(&w, 52); /* 48 prompt tokens and 4 more; the fifth id needs no room */
    st_generate_options options = options_of(&w, 16);
    st_generate_result r;
    stretto_error err = {0};
    assert_int_equal(st_generate(w.chain, &options, &r, &err), 0);
    assert_int_equal(r.finish, ST_FINISH_CONTEXT);
    assert_int_equal(r.n_generated, 5);
    assert_memory_equal(w.ids, w.greedy, 5 * sizeof *w.greedy);
    work_close(&w);
}

static void test_prompt_does_not_fit(void **state) {
    (void)state;
    work w;
    work_open(&w, 40);
    st_generate_options options = options_of(&w, 16);
    st_generate_result r;
    stretto_error err = {0};
    assert_int_equal(st_generate(w.chain, &options, &r, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "48 tokens"));
    assert_non_null(strstr(err.text, "8 too many"));
    assert_int_equal(r.finish, ST_FINISH_ERROR);
    assert_int_equal(st_chain_length(w.chain), 0);
    options.n_prompt = 0;
    assert_int_equal(st_generate(w.chain, &options, &r, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "empty"));
    work_close(&w);
}

static void test_callback_stops(void **state) {
    (void)state;
    work w;
    work_open(&w, 128);
    w.stop_after = 3;
    st_generate_options options = options_of(&w, 16);
    st_generate_result r;
    stretto_error err = {0};
    assert_int_equal(st_generate(w.chain, &options, &r, &err), STRETTO_E_STOPPED);
    assert_int_equal(r.finish, ST_FINISH_STOPPED);
    assert_int_equal(r.n_generated, 3);
    work_close(&w);
}

static void test_cancel(void **state) {
    (void)state;
    work w;
    work_open(&w, 128);
    atomic_store(&w.cancel, true);
    st_generate_options options = options_of(&w, 16);
    st_generate_result r;
    stretto_error err = {0};
    assert_int_equal(st_generate(w.chain, &options, &r, &err), STRETTO_E_STOPPED);
    assert_int_equal(r.n_prompt, 0);
    atomic_store(&w.cancel, false);
    w.cancel_in_callback = true;
    assert_int_equal(st_generate(w.chain, &options, &r, &err), STRETTO_E_STOPPED);
    assert_int_equal(r.n_generated, 1);
    work_close(&w);
}

/* Sampling with a penalty that forbids what stood before: no id comes twice, none is one of the prompt's. */
static void test_sampler_sees_prompt_and_ids(void **state) {
    (void)state;
    work w;
    work_open(&w, 128);
    st_sampler *sampler = NULL;
    stretto_error err = {0};
    st_sampler_options so = {.repeat_penalty = 1e6, .repeat_last = 1000};
    fixture_check(st_sampler_create(&sampler, &so, w.f.model->n_vocab, &err), &err);
    st_generate_options options = options_of(&w, 16);
    options.sampler = sampler;
    st_generate_result r;
    assert_int_equal(st_generate(w.chain, &options, &r, &err), 0);
    for (uint32_t i = 0; i < w.n_ids; i++) {
        for (uint32_t k = 0; k < i; k++) assert_int_not_equal(w.ids[i], w.ids[k]);
        for (uint32_t k = 0; k < w.n_prompt; k++) assert_int_not_equal(w.ids[i], w.prompt[k]);
    }
    st_sampler_free(sampler);
    work_close(&w);
}

/* A prompt after which the model's likeliest token ends the turn: found by trying, as the weights are random. */
static void test_ends_with_the_turn(void **state) {
    (void)state;
    work w;
    work_open(&w, 128);
    st_generate_result r;
    stretto_error err = {0};
    bool found = false;
    for (int32_t id = 0; id < (int32_t)st_tokenizer_size(w.tok) && !found; id++) {
        st_chain_reset(w.chain);
        w.n_ids = 0;
        st_generate_options options = options_of(&w, 40);
        options.prompt = &id;
        options.n_prompt = 1;
        options.tok = w.tok;
        assert_int_equal(st_generate(w.chain, &options, &r, &err), 0);
        found = r.finish == ST_FINISH_END;
    }
    assert_true(found);
    assert_true(st_tokenizer_is_end(w.tok, w.ids[w.n_ids - 1]));
    assert_true(w.n_ids < 40);
    for (uint32_t i = 0; i + 1 < w.n_ids; i++) assert_false(st_tokenizer_is_end(w.tok, w.ids[i]));
    work_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_ids_and_times),
        cmocka_unit_test(test_batches_and_handed_over_time),
        cmocka_unit_test(test_reading_is_told),
        cmocka_unit_test(test_nothing_to_generate),
        cmocka_unit_test(test_context_fills),
        cmocka_unit_test(test_prompt_does_not_fit),
        cmocka_unit_test(test_callback_stops),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_sampler_sees_prompt_and_ids),
        cmocka_unit_test(test_ends_with_the_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
