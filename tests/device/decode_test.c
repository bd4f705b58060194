/* SPDX-License-Identifier: MIT
 * Decoding with steps that are submitted early: the ids and logits of one forward after the other, wherever it ends. */
#include "support/fixture.h"
#include "support/frail.h"

enum { N_PROMPT = 9, N_STEPS = 90, CTX = 128 };

static const int32_t prompt[N_PROMPT] = {3, 14, 15, 92, 65, 35, 89, 79, 32};

/* What came, and after how many ids it shall end (0: never). */
typedef struct taken {
    int32_t ids[N_STEPS];
    uint32_t n, stop_at;
} taken;

static int take(void *arg, int32_t id) {
    taken *t = arg;
    assert_true(t->n < N_STEPS);
    t->ids[t->n++] = id;
    return t->n == t->stop_at;
}

/* Not the likeliest token, and another one each time. */
static int32_t pick(void *arg, const float *logits, int32_t argmax) {
    (void)logits;
    return (argmax + 7 * (*(int32_t *)arg)++) % 100;
}

static void read_prompt(st_chain *chain) {
    stretto_error err = {0};
    fixture_check(st_chain_forward(chain, prompt, N_PROMPT, ST_WANT_NONE, NULL, NULL, &err), &err);
}

/* n steps, each looked at before the next one. */
static void decode_plainly(st_chain *chain, uint32_t n, bool picks, int32_t *ids) {
    stretto_error err = {0};
    int32_t id = 3, picked = 1;
    for (uint32_t i = 0; i < n; i++) {
        fixture_check(st_chain_forward(chain, &id, 1, ST_WANT_LAST, NULL, NULL, &err), &err);
        id = picks ? pick(&picked, NULL, st_chain_argmax(chain)) : st_chain_argmax(chain);
        ids[i] = id;
    }
}

static void decode_ahead(st_chain *chain, uint32_t n, uint32_t stop_at, bool picks, taken *t) {
    stretto_error err = {0};
    int32_t picked = 1;
    *t = (taken){.stop_at = stop_at};
    const st_decoding decoding = {
        .first = 3, .n = n, .pick = picks ? pick : NULL, .pick_arg = &picked, .on_id = take, .arg = t};
    fixture_check(st_chain_decode(chain, &decoding, &err), &err);
}

static void check_logits(const fixture *f, const st_chain *a, const st_chain *b) {
    assert_memory_equal(st_chain_logits(a), st_chain_logits(b), f->model->n_vocab * sizeof(float));
}

/* After `stop_at` ids of N_STEPS, or after all. */
static void compare(fixture *f, const char *split, uint32_t stop_at, bool picks) {
    stretto_error err = {0};
    int32_t ids[N_STEPS];
    const uint32_t n = stop_at ? stop_at : N_STEPS;
    taken t;
    st_chain *plain = fixture_chain(f, split, ST_KV_F16, CTX, 16, 1, NULL),
             *ahead = fixture_chain(f, split, ST_KV_F16, CTX, 16, 1, NULL);
    read_prompt(plain);
    read_prompt(ahead);
    decode_plainly(plain, n, picks, ids);
    decode_ahead(ahead, N_STEPS, stop_at, picks, &t);
    assert_int_equal(t.n, n);
    assert_memory_equal(t.ids, ids, n * sizeof *ids);
    assert_int_equal(st_chain_length(ahead), N_PROMPT + n);
    check_logits(f, plain, ahead);
    /* what was given up has left nothing behind */
    fixture_check(st_chain_forward(plain, prompt, N_PROMPT, ST_WANT_LAST, NULL, NULL, &err), &err);
    fixture_check(st_chain_forward(ahead, prompt, N_PROMPT, ST_WANT_LAST, NULL, NULL, &err), &err);
    check_logits(f, plain, ahead);
    st_chain_close(plain);
    st_chain_close(ahead);
}

static void open_model(fixture *f, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.gguf", ST_GOLDEN, name);
    fixture_open(f, path, NULL);
}

static void same_as_step_by_step(void **state) {
    (void)state;
    static const char *const models[] = {"tiny-llama-Q4_1", "tiny-gemma3-Q4_0" /* which slides */};
    static const uint32_t stops[] = {0, 1, 2, 7, 64, 89};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (unsigned units = 1; units <= 2; units++) {
            fixture f;
            open_model(&f, models[m]);
            for (unsigned u = 0; u < units; u++) fixture_unit(&f, u, units == 1 ? 2 : 1);
            for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
                compare(&f, "3", stops[i], false);
                compare(&f, "3", stops[i], true);
            }
            fixture_close(&f);
        }
}

static void too_many_steps(void **state) {
    (void)state;
    fixture f;
    stretto_error err = {0};
    taken t = {.n = 0};
    open_model(&f, "tiny-llama-Q4_1");
    fixture_unit(&f, 0, 1);
    st_chain *chain = fixture_chain(&f, "2", ST_KV_F16, N_PROMPT + 5, 16, 1, NULL);
    read_prompt(chain);
    st_decoding decoding = {.first = 3, .n = 6, .on_id = take, .arg = &t};
    assert_int_equal(st_chain_decode(chain, &decoding, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "1 too many"));
    decoding.first = (int32_t)f.model->n_vocab;
    decoding.n = 5;
    assert_int_equal(st_chain_decode(chain, &decoding, &err), STRETTO_E_INPUT);
    assert_non_null(strstr(err.text, "vocabulary"));
    assert_int_equal(t.n, 0);
    assert_int_equal(st_chain_length(chain), N_PROMPT);
    decode_ahead(chain, 5, 0, false, &t);
    assert_int_equal(t.n, 5);
    assert_int_equal(st_chain_length(chain), N_PROMPT + 5);
    st_chain_close(chain);
    fixture_close(&f);
}

/* Chunk `at` of all that are submitted fails or is refused: the ids before it come, and no others. */
static void fails(unsigned fails_at, unsigned refuses_at, uint32_t n_ids, const char *word) {
    fixture f;
    stretto_error err = {0};
    taken t = {.n = 0};
    int32_t ids[N_STEPS];
    frail unit = frail_make(0, 0);
    unit.queue.unit = &unit.unit;
    open_model(&f, "tiny-llama-Q4_1");
    f.units[0] = &unit.unit;
    f.n_units = 1;
    st_chain *chain = fixture_chain(&f, "2", ST_KV_F16, 64, 16, 1, NULL),
             *plain = fixture_chain(&f, "2", ST_KV_F16, 64, 16, 1, NULL);
    read_prompt(plain);
    decode_plainly(plain, 8, false, ids);
    read_prompt(chain);
    unit.submitted = 0;
    unit.fails_at = fails_at;
    unit.refuses_at = refuses_at;
    const st_decoding decoding = {.first = 3, .n = 8, .on_id = take, .arg = &t};
    assert_int_equal(st_chain_decode(chain, &decoding, &err), STRETTO_E_UNIT);
    assert_non_null(strstr(err.text, word));
    assert_int_equal(t.n, n_ids);
    assert_memory_equal(t.ids, ids, n_ids * sizeof *ids);
    assert_int_equal(st_chain_length(chain), N_PROMPT + n_ids);
    st_chain_reset(chain);
    read_prompt(chain);
    decode_ahead(chain, 8, 0, false, &t);
    assert_memory_equal(t.ids, ids, 8 * sizeof *ids);
    st_chain_close(chain);
    st_chain_close(plain);
    f.n_units = 0;
    fixture_close(&f);
}

static void a_step_fails(void **state) {
    (void)state;
    for (unsigned at = 1; at <= 8; at++) fails(at, 0, (at - 1) / 2, "lost its power");
}

static void a_step_is_refused(void **state) {
    (void)state;
    for (unsigned at = 1; at <= 8; at++) fails(0, at, (at - 1) / 2, "is gone");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_step_by_step), cmocka_unit_test(too_many_steps),
                                       cmocka_unit_test(a_step_fails), cmocka_unit_test(a_step_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
