/* SPDX-License-Identifier: MIT
 * Goes on with a text, greedily, and says what each chunk of the model took for the last token:
 *
 *     cc decode.c -lstretto -o decode && ./decode model.gguf "Once upon a time" 64
 */
#include <stretto/chain.h>
#include <stretto/model.h>
#include <stretto/tokenizer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int warn(const stretto_error *err) {
    fprintf(stderr, "decode: %s\n", err->text);
    return EXIT_FAILURE;
}

static void on_log(void *arg, enum stretto_log_level level, const char *text) {
    (void)arg;
    if (level == STRETTO_LOG_WARN) fprintf(stderr, "decode: warning: %s\n", text);
}

/* Up to n tokens after the ids, printed as they come. */
static int decode(stretto_chain *chain, const stretto_tokenizer *tokenizer, const int32_t *ids, size_t n_ids, int n,
                  stretto_error *err) {
    int code = stretto_chain_append(chain, ids, n_ids, NULL, NULL, err);
    for (int i = 0; i < n && !code; i++) {
        int32_t id = stretto_chain_argmax(chain);
        char text[256];
        size_t length;
        if (stretto_tokenizer_is_end(tokenizer, id)) break;
        code = stretto_tokenizer_decode(tokenizer, &id, 1, STRETTO_TOKEN_REST, text, sizeof text, &length, err);
        if (code) break;
        fwrite(text, 1, length < sizeof text ? length : sizeof text, stdout);
        fflush(stdout);
        code = stretto_chain_append(chain, &id, 1, NULL, NULL, err);
    }
    printf("\n");
    return code;
}

static void report(const stretto_chain *chain) {
    stretto_chunk_info info;
    for (size_t i = 0; stretto_chain_chunk(chain, i, &info, NULL) == STRETTO_OK; i++)
        fprintf(stderr, "chunk %s: layers %u-%u on %s, %.3f ms\n", info.name, info.first, info.last, info.unit,
                (double)(info.end_ns - info.start_ns) / 1e6);
}

/* The ids of a text, to be freed; NULL, with the reason in err, where there are none. The first call measures. */
static int32_t *encode(const stretto_tokenizer *tokenizer, const char *text, size_t *n_ids, stretto_error *err) {
    size_t n = strlen(text);
    if (stretto_tokenizer_encode(tokenizer, text, n, STRETTO_TOKEN_BOS, NULL, 0, n_ids, err)) return NULL;
    snprintf(err->text, sizeof err->text, *n_ids ? "no memory for %zu ids" : "the text has %zu tokens to go on from",
             *n_ids);
    int32_t *ids = *n_ids ? malloc(*n_ids * sizeof *ids) : NULL;
    if (ids) stretto_tokenizer_encode(tokenizer, text, n, STRETTO_TOKEN_BOS, ids, *n_ids, n_ids, err);
    return ids;
}

int main(int argc, char **argv) {
    int n = argc > 3 ? atoi(argv[3]) : 32;
    if (argc < 3 || argc > 4 || n < 1) {
        fprintf(stderr, "usage: decode MODEL.gguf TEXT [TOKENS]\n");
        return 2;
    }
    size_t n_ids = 0;
    int32_t *ids = NULL;
    stretto_error err;
    stretto_log log = {.fn = on_log};
    stretto_model_options options = {.log = &log};
    stretto_tokenizer *tokenizer = NULL;
    stretto_model *model = NULL;
    stretto_chain *chain = NULL;

    int code = stretto_tokenizer_open(&tokenizer, argv[1], NULL, &err);
    if (!code) code = stretto_model_open(&model, argv[1], &options, &err);
    if (!code) code = stretto_chain_open(&chain, model, NULL, &err);
    if (!code) ids = encode(tokenizer, argv[2], &n_ids, &err);
    if (!code && !ids) code = STRETTO_E_INPUT;
    if (!code) code = decode(chain, tokenizer, ids, n_ids, n, &err);
    if (!code) report(chain);

    free(ids);
    stretto_chain_close(chain);
    stretto_model_close(model);
    stretto_tokenizer_close(tokenizer);
    return code ? warn(&err) : EXIT_SUCCESS;
}
