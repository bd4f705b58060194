/* SPDX-License-Identifier: MIT
 * A model that guesses ahead: what it says is what it would say alone, however often its text is changed under it. */
#include "run/draft.h"

#include "support/fixture.h"
#include "support/frail.h"

#define N_CTX 96
#define N_PROMPT 40
#define MOST 6

/* A draft on a unit that runs each step while it is submitted: `arrived` counts what is still to be told. */
typedef struct rig {
    st_listener listener; /* first */
    fixture f;
    frail unit;
    st_chain *chain, *plain; /* plain: for the expected, on a lane */
    st_draft *draft;
    unsigned arrived;
    int32_t prompt[N_PROMPT];
} rig;

static void note(st_listener *listener, int code, const stretto_error *error) {
    (void)code;
    (void)error;
    ((rig *)listener)->arrived++;
}

static void rig_open(rig *r, const char *model) {
    char path[512];
    stretto_error err = {0};
    memset(r, 0, sizeof *r);
    r->listener.fn = note;
    snprintf(path, sizeof path, "%s/%s.gguf", ST_GOLDEN, model);
    fixture_open(&r->f, path, NULL);
    fixture_unit(&r->f, 0, 1);
    r->unit = frail_make(0, 0);
    r->unit.queue.unit = &r->unit.unit;
    st_unit *units[1] = {&r->unit.unit};
    st_span all[1] = {{0, r->f.model->n_layers - 1}};
    st_chain_options c = {
        .model = r->f.model, .spans = all, .n_chunks = 1, .units = units, .n_ctx = N_CTX, .max_batch = 16};
    fixture_check(st_chain_open(&r->chain, &c, &err), &err);
    units[0] = r->f.units[0];
    fixture_check(st_chain_open(&r->plain, &c, &err), &err);
    fixture_check(st_draft_create(&r->draft, r->chain, &r->listener, &err), &err);
    for (uint32_t i = 0; i < N_PROMPT; i++) r->prompt[i] = (int32_t)((i * 29 + 5) % r->f.model->n_vocab);
}

static void rig_close(rig *r) {
    st_draft_free(r->draft);
    st_chain_close(r->chain);
    st_chain_close(r->plain);
    fixture_close(&r->f);
}

static st_draft_text text_of(const rig *r, const int32_t *ids, uint32_t n_ids, const int32_t *guess, uint32_t n_guess) {
    return (st_draft_text){
        .prompt = r->prompt, .n_prompt = N_PROMPT, .ids = ids, .n_ids = n_ids, .guess = guess, .n_guess = n_guess};
}

/* Tells the draft of up to `most` steps. */
static void pump(rig *r, unsigned most) {
    for (; r->arrived > 0 && most > 0; most--) {
        r->arrived--;
        st_draft_arrived(r->draft);
    }
}

/* What the model says alone after the prompt and these ids; its chain then holds all but the last of them. */
static void say(rig *r, const int32_t *ids, uint32_t n_ids, int32_t *out, uint32_t n) {
    stretto_error err = {0};
    st_chain_reset(r->plain);
    fixture_check(st_chain_forward(r->plain, r->prompt, N_PROMPT, ST_WANT_LAST, NULL, NULL, &err), &err);
    if (n_ids) fixture_check(st_chain_forward(r->plain, ids, n_ids, ST_WANT_LAST, NULL, NULL, &err), &err);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = st_chain_argmax(r->plain);
        if (i + 1 < n) fixture_check(st_chain_forward(r->plain, &out[i], 1, ST_WANT_LAST, NULL, NULL, &err), &err);
    }
}

static void check_taken(rig *r, const int32_t *expected, uint32_t n) {
    int32_t got[MOST];
    assert_false(st_draft_busy(r->draft));
    assert_int_equal(st_draft_take(r->draft, got, MOST), n);
    assert_memory_equal(got, expected, n * sizeof *got);
}

/* While its guess is verified it goes on from there; when the guess was right nothing has to be done anew. */
static void a_right_guess_is_gone_on_from(void **state) {
    (void)state;
    rig r;
    int32_t alone[2 * MOST];
    rig_open(&r, "tiny-llama-Q4_1");
    say(&r, NULL, 0, alone, 2 * MOST);
    st_draft_text text = text_of(&r, NULL, 0, NULL, 0);
    assert_true(st_draft_want(r.draft, &text, MOST));
    assert_true(st_draft_busy(r.draft));
    pump(&r, 100);
    check_taken(&r, alone, MOST);
    text = text_of(&r, alone, 1, alone + 1, 3);
    assert_false(st_draft_want(r.draft, &text, MOST - 4)); /* it is there already */
    assert_true(st_draft_want(r.draft, &text, MOST));
    pump(&r, 100);
    unsigned steps = r.unit.submitted;
    text = text_of(&r, alone, 5, NULL, 0); /* all were right, and one more came */
    assert_false(st_draft_want(r.draft, &text, MOST - 1));
    assert_int_equal(r.unit.submitted, steps);
    check_taken(&r, alone + 5, MOST - 1);
    rig_close(&r);
}

/* The text changes in the middle of a step, again and again; what comes of it is bit for bit what a chain says that
 * never knew of the others. */
static void a_cancelled_draft_leaves_no_trace(void **state) {
    (void)state;
    static const char *const models[] = {"tiny-llama-Q4_1", "tiny-gemma3-Q4_0", "tiny-gemma4-Q8_0"};
    for (size_t m = 0; m < 3; m++) {
        rig r;
        int32_t ids[8], alone[MOST], ahead[2] = {7, 8};
        rig_open(&r, models[m]);
        for (uint32_t round = 0; round < 12; round++) {
            uint32_t n = 1 + round % 8;
            for (uint32_t i = 0; i < n; i++) ids[i] = (int32_t)((round / 3 * 13 + i * 7 + 1) % r.f.model->n_vocab);
            st_draft_text text = text_of(&r, ids, n, ahead, 2);
            st_draft_want(r.draft, &text, MOST);
            pump(&r, round % 4); /* a step is under way when it turns out that the guess was wrong */
            text = text_of(&r, ids, n, NULL, 0);
            st_draft_want(r.draft, &text, MOST);
            pump(&r, 100);
            say(&r, ids, n, alone, MOST);
            check_taken(&r, alone, MOST);
            assert_int_equal(st_chain_length(r.chain), st_chain_length(r.plain));
            assert_memory_equal(st_chain_logits(r.chain), st_chain_logits(r.plain), r.f.model->n_vocab * sizeof(float));
        }
        rig_close(&r);
    }
}

/* Of the parts of a long text only the last one gives a token: a text that ends where another one's part does is read
 * once more. */
static void a_text_that_ends_early(void **state) {
    (void)state;
    rig r;
    int32_t alone[MOST];
    stretto_error err = {0};
    rig_open(&r, "tiny-llama-Q4_1");
    st_draft_text text = text_of(&r, NULL, 0, NULL, 0);
    st_draft_want(r.draft, &text, MOST); /* 16 tokens are under way */
    text.n_prompt = 16;
    st_draft_want(r.draft, &text, 1);
    pump(&r, 100);
    fixture_check(st_chain_forward(r.plain, r.prompt, 16, ST_WANT_LAST, NULL, NULL, &err), &err);
    alone[0] = st_chain_argmax(r.plain);
    check_taken(&r, alone, 1);
    rig_close(&r);
}

/* A prompt is longer than what a guess adds: nobody waits until it is read. 16 tokens a step, 40 of them. */
static void a_long_text_is_read_first(void **state) {
    (void)state;
    rig r;
    rig_open(&r, "tiny-llama-Q4_1");
    st_draft_text text = text_of(&r, NULL, 0, NULL, 0);
    assert_false(st_draft_behind(r.draft));
    st_draft_want(r.draft, &text, MOST);
    assert_true(st_draft_behind(r.draft) && st_draft_busy(r.draft) && st_draft_under_way(r.draft));
    pump(&r, 1);
    assert_false(st_draft_behind(r.draft)); /* the second part is under way, the third has 8 */
    assert_true(st_draft_busy(r.draft));
    st_draft_stop(r.draft);
    assert_true(st_draft_under_way(r.draft));
    pump(&r, 100);
    assert_false(st_draft_under_way(r.draft) || st_draft_behind(r.draft));
    rig_close(&r);
}

static void a_stopped_draft_does_no_more(void **state) {
    (void)state;
    rig r;
    int32_t guess[MOST];
    rig_open(&r, "tiny-llama-Q4_1");
    st_draft_text text = text_of(&r, NULL, 0, NULL, 0);
    st_draft_want(r.draft, &text, MOST); /* its first part is under way */
    st_draft_stop(r.draft);
    assert_false(st_draft_busy(r.draft));
    pump(&r, 100);
    assert_int_equal(r.unit.submitted, 1);
    assert_int_equal(st_draft_take(r.draft, guess, MOST), 0);
    rig_close(&r);
}

static void a_failed_unit_is_not_waited_for(void **state) {
    (void)state;
    for (unsigned at = 1; at < 8; at++) {
        rig r;
        int32_t guess[MOST];
        rig_open(&r, "tiny-llama-Q4_1");
        if (at % 2)
            r.unit.fails_at = at;
        else
            r.unit.refuses_at = at;
        st_draft_text text = text_of(&r, NULL, 0, NULL, 0);
        st_draft_want(r.draft, &text, MOST);
        pump(&r, 100);
        assert_false(st_draft_busy(r.draft));
        assert_int_equal(st_draft_take(r.draft, guess, MOST), 0);
        assert_false(st_draft_want(r.draft, &text, MOST));
        rig_close(&r);
    }
}

/* A full context: one token after it can be said, and of a longer text nothing. */
static void the_context_ends(void **state) {
    (void)state;
    rig r;
    int32_t ids[N_CTX], guess[MOST];
    rig_open(&r, "tiny-llama-Q4_1");
    for (uint32_t i = 0; i < N_CTX; i++) ids[i] = (int32_t)(i % 50);
    st_draft_text text = text_of(&r, ids, N_CTX - N_PROMPT, NULL, 0);
    assert_true(st_draft_want(r.draft, &text, MOST));
    pump(&r, 100);
    assert_int_equal(st_draft_take(r.draft, guess, MOST), 1);
    text.n_ids++;
    assert_false(st_draft_want(r.draft, &text, MOST));
    assert_int_equal(st_draft_take(r.draft, guess, MOST), 0);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_guess_is_gone_on_from),
        cmocka_unit_test(a_cancelled_draft_leaves_no_trace),
        cmocka_unit_test(a_stopped_draft_does_no_more),
        cmocka_unit_test(a_failed_unit_is_not_waited_for),
        cmocka_unit_test(the_context_ends),
        cmocka_unit_test(a_text_that_ends_early),
        cmocka_unit_test(a_long_text_is_read_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
