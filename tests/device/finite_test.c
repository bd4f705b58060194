/* SPDX-License-Identifier: MIT
 * Weights that are no numbers in a table that loading leaves in the map, and weights that overflow: a forward fails and
 * says which, instead of giving logits that are none. */
#include "support/fixture.h"
#include "support/rewrite.h"

#include <unistd.h>

#define ROW 300 /* the token whose row is spoilt */

typedef struct spoilt {
    fixture f;
    st_chain *chain;
    char path[64];
} spoilt;

static void open_spoilt(spoilt *s, const char *name, const rewrite *change) {
    char original[512];
    stretto_error err = {0};
    st_gguf *g = NULL;
    snprintf(original, sizeof original, "%s/%s.gguf", ST_GOLDEN, name);
    snprintf(s->path, sizeof s->path, "/tmp/stretto-finite-%d.gguf", (int)getpid());
    fixture_check(st_gguf_open(&g, original, NULL, &err), &err);
    rewrite_file(g, s->path, change);
    st_gguf_close(g);
    fixture_open(&s->f, s->path, NULL);
    unlink(s->path);
    fixture_unit(&s->f, 0, 2);
    s->chain = fixture_chain(&s->f, NULL, ST_KV_F32, 64, 0, 4, NULL);
}

static void close_spoilt(spoilt *s) {
    st_chain_close(s->chain);
    fixture_close(&s->f);
}

static int forward(spoilt *s, int32_t a, int32_t b, stretto_error *err) {
    const int32_t ids[] = {5, a, b};
    st_chain_reset(s->chain);
    return st_chain_forward(s->chain, ids, 3, ST_WANT_ALL, NULL, NULL, err);
}

static void check_table(const char *model, const char *tensor, size_t row_bytes) {
    spoilt s;
    stretto_error err = {0};
    open_spoilt(&s, model, &(rewrite){.poison_tensor = tensor, .poison_at = ROW * row_bytes + 6});
    assert_int_equal(forward(&s, 7, ROW, &err), STRETTO_E_INPUT);
    if (!strstr(err.text, tensor) || !strstr(err.text, "row 300")) fail_msg("%s", err.text);
    fixture_check(forward(&s, 7, ROW - 1, &err), &err); /* the others are as good as ever */
    fixture_check(forward(&s, ROW + 1, 8, &err), &err);
    close_spoilt(&s);
}

static void rows_of_tables(void **state) {
    (void)state;
    check_table("tiny-gemma4-F32", "per_layer_token_embd.weight", 9 * 32 * sizeof(float));
    check_table("tiny-qwen2-F32", "token_embd.weight", 64 * sizeof(float)); /* not the head here */
}

/* The largest numbers that there are, all over a matrix. */
static void weights_that_overflow(void **state) {
    (void)state;
    spoilt s;
    stretto_error err = {0};
    open_spoilt(&s, "tiny-gemma4-F32", &(rewrite){.flood_tensor = "blk.3.ffn_up.weight", .flood_value = 3e38f});
    assert_int_equal(forward(&s, 7, 8, &err), STRETTO_E_INPUT);
    if (!strstr(err.text, "logits at position 0 are no finite numbers")) fail_msg("%s", err.text);
    close_spoilt(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_tables), cmocka_unit_test(weights_that_overflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
