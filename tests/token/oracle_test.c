/* SPDX-License-Identifier: MIT
 * The tiny models' tokenizers against llama.cpp's ids, and every byte through each of them. */
#include "token/oracle.h"

#include "base/rng.h"

static const char *const names[] = {"tiny-gemma3", "tiny-gemma4", "tiny-llama", "tiny-qwen2"};

static void path_of(const char *name, char path[200]) {
    snprintf(path, 200, ST_GOLDEN "/%s-F32.gguf", name);
}

static void ids_equal_the_oracle(void **state) {
    char path[200];
    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        path_of(names[i], path);
        oracle_check(names[i], path);
    }
}

/* tiny-qwen3 has tiny-qwen2's tokenizer. */
static void another_file_of_the_same_tokenizer_agrees(void **state) {
    (void)state;
    oracle_check("tiny-qwen2", ST_GOLDEN "/tiny-qwen3-F32.gguf");
}

/* Bytes of all kinds: uniform, ASCII, and pieces of UTF-8 that are cut off or put together wrongly. */
static size_t random_text(st_rng *rng, char *text, size_t most) {
    static const char *const bits[] = {
        "\xe6\xad", "\xf0\x9f", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe6\xad\xa3",
        "\n\n\n",   "   ",      "'ll",  "\r\n",     "<bos>",        "<|im_end|>",       "\xff"};
    size_t n = 0, wanted = st_rng_below(rng, most);
    while (n < wanted) {
        uint64_t kind = st_rng_below(rng, 3);
        if (kind == 0) {
            text[n++] = (char)st_rng_below(rng, 256);
        } else if (kind == 1) {
            text[n++] = (char)(' ' + st_rng_below(rng, 95));
        } else {
            for (const char *bit = bits[st_rng_below(rng, LENGTH(bits))]; *bit; bit++) text[n++] = *bit;
        }
    }
    return n;
}

/* U+2581 as a space, which is what it is to these models. */
static size_t without_block(char *text, size_t n) {
    for (char *at; (at = memmem(text, n, "\xe2\x96\x81", 3)) != NULL; n -= 2) {
        *at = ' ';
        memmove(at + 1, at + 3, n - (size_t)(at + 3 - text));
    }
    return n;
}

static void any_bytes_come_back(void **state) {
    char path[200], text[300];
    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        path_of(names[i], path);
        golden g = golden_open(path);
        st_rng rng;
        st_rng_seed(&rng, 7 + i);
        for (int byte = 0; byte < 256; byte++) expect_round_trip(g.tok, &(char){(char)byte}, 1);
        for (int round = 0; round < 2000; round++) {
            size_t n = random_text(&rng, text, 250);
            expect_round_trip(g.tok, text, without_block(text, n));
        }
        golden_close(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_equal_the_oracle),
        cmocka_unit_test(another_file_of_the_same_tokenizer_agrees),
        cmocka_unit_test(any_bytes_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
