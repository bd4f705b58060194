/* SPDX-License-Identifier: MIT
 * A chain over a unit that fails: the reason comes through, nothing hangs, positions do not advance, and after a reset
 * the chain is as good as new. */
#include "support/fixture.h"
#include "support/frail.h"

static const int32_t ids[] = {3, 14, 15, 92, 65, 35};

static void fails(unsigned fails_at, unsigned refuses_at, const char *word) {
    fixture f;
    char path[512];
    stretto_error err = {0};
    frail unit = frail_make(0, 0);
    unit.queue.unit = &unit.unit;
    snprintf(path, sizeof path, "%s/tiny-llama-Q4_1.gguf", ST_GOLDEN);
    fixture_open(&f, path, NULL);
    f.units[0] = &unit.unit;
    f.n_units = 1;
    st_chain *chain = fixture_chain(&f, "4", ST_KV_F16, 64, 2, 1, NULL),
             *fresh = fixture_chain(&f, "4", ST_KV_F16, 64, 2, 1, NULL);
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
