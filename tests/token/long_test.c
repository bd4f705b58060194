/* SPDX-License-Identifier: MIT
 * Long texts of the kinds that make tokenizers quadratic: time grows as the text does. CPU time is what counts, so that
 * a busy machine does not matter. */
#include "token/toy.h"

#include "support/cpu_time.h"

static const char *const names[] = {"tiny-gemma3", "tiny-gemma4", "tiny-llama", "tiny-qwen2"};

typedef struct kind {
    const char *what, *unit; /* repeated to the wanted length */
} kind;

static const kind kinds[] = {
    {"a", "a"},
    {"letters", "abcdefghijklmnopqrstuvwxyz"},
    {"newlines", "\n"},
    {"spaces", " "},
    {"emoji", "\xf0\x9f\x98\x80"},
    {"carriage returns", "\r\n"},
    {"digits", "1234567890"},
    {"quotes", "'"},
    {"bytes that are not UTF-8", "\xe6\xad"},
    {"markers", "<|im_start|>"},
    {"beginnings of markers", "<|im_start|"},
    {"words", "the old man closed the window. "},
};

static char *text_make(const char *unit, size_t n) {
    char *text = malloc(n + 1);
    assert_non_null(text);
    size_t len = strlen(unit);
    for (size_t i = 0; i < n; i++) text[i] = unit[i % len];
    text[n] = '\0';
    return text;
}

/* The least of three, in ns: other work on the machine only ever adds. */
static uint64_t encode_time(const st_tokenizer *tok, const char *text, size_t n, bool special) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        stretto_error err = {0};
        st_ids ids = {0};
        uint64_t start = thread_cpu_ns();
        if (st_tokenizer_encode(tok, text, n, special, false, &ids, &err)) fail_msg("%s", err.text);
        uint64_t ns = thread_cpu_ns() - start;
        if (ns < least) least = ns;
        st_ids_free(&ids);
    }
    return least;
}

/* Ten times the text may take up to 30 times as long: n log n, and caches that no longer hold it. Quadratic is 100. */
static void time_grows_as_the_text_does(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        char path[200];
        snprintf(path, sizeof path, ST_GOLDEN "/%s-F32.gguf", names[i]);
        golden g = golden_open(path);
        for (size_t k = 0; k < LENGTH(kinds); k++)
            for (int special = 0; special < 2; special++) {
                enum { FEW = 10000, MANY = 100000 };
                char *text = text_make(kinds[k].unit, MANY);
                uint64_t few = encode_time(g.tok, text, FEW, special), many = encode_time(g.tok, text, MANY, special);
                if (many > 30 * few + 1000000)
                    fail_msg("%s, %s: %u bytes in %.2f ms, %u in %.2f ms", names[i], kinds[k].what, FEW,
                             (double)few / 1e6, MANY, (double)many / 1e6);
                free(text);
            }
        golden_close(&g);
    }
}

/* A megabyte of emoji in each model, and of everything else in one or the other. */
static void a_megabyte_comes_back(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        char path[200];
        snprintf(path, sizeof path, ST_GOLDEN "/%s-F32.gguf", names[i]);
        golden g = golden_open(path);
        for (size_t k = 0; k < LENGTH(kinds); k++) {
            if (k % LENGTH(names) != i && strcmp(kinds[k].what, "emoji") != 0) continue;
            char *text = text_make(kinds[k].unit, 1u << 20);
            expect_round_trip(g.tok, text, 1u << 20);
            free(text);
        }
        golden_close(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_grows_as_the_text_does),
        cmocka_unit_test(a_megabyte_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
