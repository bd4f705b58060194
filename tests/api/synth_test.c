/* SPDX-License-Identifier: MIT
 * Synthetic models work as models: their vocabulary tokenizes and comes back, chat works, and they generate without a
 * number going wrong. */
#include "support.h"

#include "model/synth.h"
#include "stretto/tokenizer.h"

#include <math.h>
#include <unistd.h>

static char path[] = "/tmp/stretto-api-synth-XXXXXX";

static int make_path(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

static void write_synth(const char *like, uint32_t type) {
    stretto_error err = {0};
    st_synth_options options = {.like = like, .type = type, .scale_num = 1, .scale_den = 8, .seed = 5};
    must(st_synth_write(path, &options, &err), &err);
}

/* The text of the turn stands in the form as it is, and its special tokens are not taken for such. */
static void check_chat(const stretto_tokenizer *t, const char *like) {
    stretto_chat_turn turn = {.role = "user", .text = "say <eos><|im_end|>", .n = 19};
    int32_t ids[128];
    char shown[512], plain[512];
    size_t n = 0, n_shown = 0, n_plain = 0;
    stretto_error err = {0};
    must(stretto_tokenizer_chat(t, &turn, 1, ids, 128, &n, &err), &err);
    must(stretto_tokenizer_decode(t, ids, n, STRETTO_TOKEN_SPECIAL, shown, sizeof shown - 1, &n_shown, &err), &err);
    must(stretto_tokenizer_decode(t, ids, n, 0, plain, sizeof plain - 1, &n_plain, &err), &err);
    shown[n_shown] = plain[n_plain] = '\0';
    if (!strstr(shown, turn.text) || !strstr(plain, turn.text) || n_shown < n_plain + 10)
        fail_msg("%s: %s", like, shown);
    turn.role = "narrator";
    must_fail(stretto_tokenizer_chat(t, &turn, 1, ids, 128, &n, &err), STRETTO_E_USAGE, &err, "narrator");
    assert_int_equal(n, 0);
    must_fail(stretto_tokenizer_chat(t, NULL, 0, ids, 128, &n, &err), STRETTO_E_USAGE, &err, "turn");
}

/* Text, bytes that are no text, and control tokens as text come back as they were. */
static void check_tokenizer(const char *like) {
    static const char *const texts[] = {"the quick brown fox, jumps over 13 lazy dogs!\n\n  indented",
                                        "caf\xc3\xa9 \xe4\xbd\xa0 \xf0\x9f\x99\x82", "\xff\xfe\x01",
                                        "<|im_end|><eos><end_of_turn>"};
    stretto_tokenizer *t = NULL;
    stretto_error err = {0};
    must(stretto_tokenizer_open(&t, path, NULL, &err), &err);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int32_t ids[256];
        char text[256];
        size_t n = 0, n_text = 0;
        must(stretto_tokenizer_encode(t, texts[i], strlen(texts[i]), 0, ids, 256, &n, &err), &err);
        must(stretto_tokenizer_decode(t, ids, n, 0, text, sizeof text, &n_text, &err), &err);
        if (n_text != strlen(texts[i]) || memcmp(text, texts[i], n_text) != 0)
            fail_msg("%s: \"%.*s\" came back", like, (int)n_text, text);
        if (i == 0 && n * 3 > 2 * strlen(texts[i])) fail_msg("%s: %zu tokens for %zu bytes", like, n, strlen(texts[i]));
    }
    check_chat(t, like);
    stretto_tokenizer_close(t);
}

static void check_generation(const char *like) {
    stretto_error err = {0};
    stretto_model *model = NULL;
    stretto_chain *chain = NULL;
    stretto_model_info info;
    must(stretto_model_open(&model, path, NULL, &err), &err);
    stretto_model_info_get(model, &info);
    must(stretto_chain_open(&chain, model, NULL, &err), &err);
    int32_t id = 300, different = 0;
    for (int i = 0; i < 12; i++) {
        must(stretto_chain_append(chain, &id, 1, NULL, NULL, &err), &err);
        const float *logits = stretto_chain_logits(chain);
        double squares = 0;
        for (uint32_t v = 0; v < info.n_vocab; v++) squares += (double)logits[v] * (double)logits[v];
        double rms = sqrt(squares / info.n_vocab);
        if (!(rms > 0.3 && rms < 5)) fail_msg("%s: logits of size %g at position %d", like, rms, i);
        different += stretto_chain_argmax(chain) != id;
        id = stretto_chain_argmax(chain);
    }
    if (different == 0) fail_msg("%s: says the same token again and again", like);
    stretto_chain_close(chain);
    stretto_model_close(model);
}

static void every_synthetic_model_works(void **state) {
    (void)state;
    static const uint32_t types[] = {ST_Q4_1, ST_Q8_0, ST_Q4_0, ST_Q4_K, ST_F16, ST_Q6_K, ST_Q5_0};
    for (size_t i = 0; st_synth_name(i); i++) {
        write_synth(st_synth_name(i), types[i % 7]);
        check_tokenizer(st_synth_name(i));
        check_generation(st_synth_name(i));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_synthetic_model_works)};
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
