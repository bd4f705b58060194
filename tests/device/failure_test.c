/* SPDX-License-Identifier: MIT
 * A chain over a unit that fails: the reason comes through, nothing hangs, positions do not advance, and after a reset the
 * chain is as good as new. */
#include "base/error.h"
#include "support/fixture.h"
#include "unit/event.h"

/* Runs steps on the submitting thread; the n-th one fails, or the n-th submission is refused. */
typedef struct frail {
    st_unit unit; /* first member */
    st_queue queue;
    unsigned submitted, fails_at, refuses_at;
} frail;

static void frail_info(const st_unit *unit, st_unit_info *info) {
    (void)unit;
    snprintf(info->name, sizeof info->name, "frail:0");
    info->n_threads = 1;
    info->max_pending = 1;
    info->shares_memory = true;
}

static int frail_queue_open(st_unit *unit, st_queue **out, stretto_error *err) {
    (void)err;
    *out = &((frail *)unit)->queue;
    return 0;
}

static void frail_queue_close(st_queue *queue) { (void)queue; }

static int frail_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                        stretto_error *err) {
    frail *f = (frail *)queue->unit;
    stretto_error error = {0};
    int code = 0;
    if (++f->submitted == f->refuses_at) return st_fail(err, STRETTO_E_UNIT, "frail:0 is gone");
    st_event_begin(done, queue->unit);
    for (size_t i = 0; i < n_deps && !code; i++) code = st_event_wait(deps[i], &error);
    st_worker alone = st_worker_alone();
    if (!code && f->submitted == f->fails_at) code = st_fail(&error, STRETTO_E_UNIT, "frail:0 lost its power");
    if (!code) code = step->run(step->arg, &alone, &error);
    st_event_complete(done, code, &error, step->name);
    return 0;
}

static void frail_nothing(st_unit *unit) { (void)unit; }

static const st_unit_ops frail_ops = {.info = frail_info, .queue_open = frail_queue_open, .queue_close = frail_queue_close,
                                      .submit = frail_submit, .wait = st_event_block, .quiet = frail_nothing,
                                      .close = frail_nothing};

static const int32_t ids[] = {3, 14, 15, 92, 65, 35};

static void fails(unsigned fails_at, unsigned refuses_at, const char *word) {
    fixture f;
    char path[512];
    stretto_error err = {0};
    frail unit = {.unit = {.ops = &frail_ops, .clock = st_clock_real()}};
    unit.queue.unit = &unit.unit;
    snprintf(path, sizeof path, "%s/tiny-llama-Q4_1.gguf", ST_GOLDEN);
    fixture_open(&f, path, NULL);
    f.units[0] = &unit.unit;
    f.n_units = 1;
    st_chain *chain = fixture_chain(&f, "4", ST_KV_F16, 64, 2, 1, NULL), *fresh = fixture_chain(&f, "4", ST_KV_F16, 64, 2, 1, NULL);
    fixture_check(st_chain_forward(fresh, ids, 6, ST_WANT_LAST, NULL, NULL, &err), &err);
    unit.submitted = 0;
    unit.fails_at = fails_at;
    unit.refuses_at = refuses_at;
    assert_int_equal(st_chain_forward(chain, ids, 6, ST_WANT_LAST, NULL, NULL, &err), STRETTO_E_UNIT);
    assert_non_null(strstr(err.text, word));
    assert_int_equal(st_chain_length(chain), 2); /* the first micro-batch went through */
    st_chain_reset(chain);
    fixture_check(st_chain_forward(chain, ids, 6, ST_WANT_LAST, NULL, NULL, &err), &err);
    assert_memory_equal(st_chain_logits(chain), st_chain_logits(fresh), f.model->n_vocab * sizeof(float));
    st_chain_close(chain);
    st_chain_close(fresh);
    f.n_units = 0;
    fixture_close(&f);
}

static void step_fails(void **state) {
    (void)state;
    for (unsigned at = 5; at <= 8; at++) fails(at, 0, "lost its power"); /* each chunk of the second micro-batch */
}

static void submission_refused(void **state) {
    (void)state;
    for (unsigned at = 5; at <= 8; at++) fails(0, at, "is gone");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(step_fails), cmocka_unit_test(submission_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
