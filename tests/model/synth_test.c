/* SPDX-License-Identifier: MIT
 * Synthetic models: block statistics, shapes against the published ones, determinism, fallbacks, errors, loading. */
#include "gguf/gguf.h"
#include "model/model.h"
#include "model/synth.h"
#include "model/synth_impl.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/stretto-synth-XXXXXX";
static char path_a[64], path_b[64];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path_a, sizeof path_a, "%s/a.gguf", folder);
    snprintf(path_b, sizeof path_b, "%s/b.gguf", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path_a);
    unlink(path_b);
    return rmdir(folder);
}

/* What was logged, and the progress calls. */
typedef struct seen {
    char text[4000];
    uint64_t done, total;
    unsigned calls;
    bool in_order;
    atomic_bool stop;
    unsigned stop_after; /* progress calls, 0: never */
} seen;

static void keep_log(void *arg, enum st_log_level level, const char *text) {
    seen *s = arg;
    (void)level;
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%s\n", text);
}

static void keep_progress(void *arg, uint64_t done, uint64_t total) {
    seen *s = arg;
    s->in_order = s->calls == 0 ? done > 0 : s->in_order && done > s->done && total == s->total;
    s->done = done;
    s->total = total;
    if (++s->calls == s->stop_after) atomic_store(&s->stop, true);
}

static st_synth_options options_of(const char *like, uint32_t type, uint32_t den) {
    return (st_synth_options){.like = like, .type = type, .scale_num = 1, .scale_den = den, .seed = 7};
}

static st_gguf *write_and_open(const char *path, const st_synth_options *options) {
    stretto_error err = {0};
    st_gguf *g = NULL;
    if (st_synth_write(path, options, &err) || st_gguf_open(&g, path, NULL, &err)) fail_msg("%s", err.text);
    return g;
}

static const st_tensor *tensor_of(const st_gguf *g, const char *name) {
    const st_tensor *t = st_gguf_tensor(g, name);
    if (!t) fail_msg("no tensor %s", name);
    return t;
}

static uint32_t u32_of(const st_gguf *g, const char *key) {
    uint32_t value = 0;
    stretto_error err = {0};
    if (st_gguf_u32(g, key, true, &value, &err)) fail_msg("%s", err.text);
    return value;
}

/* ---- blocks ---- */

static const uint32_t all_types[] = {ST_F32,  ST_F16,  ST_BF16, ST_Q8_0, ST_Q4_0, ST_Q4_1,   ST_Q5_0,  ST_Q5_1,
                                     ST_Q2_K, ST_Q3_K, ST_Q4_K, ST_Q5_K, ST_Q6_K, ST_IQ4_NL, ST_IQ4_XS};
#define N_TYPES (sizeof all_types / sizeof all_types[0])

/* 2^18 draws: the mean of a right one is within 0.01 sigma (5 standard errors), its spread within 2 % (scales are f16).
 */
static void blocks_have_the_wanted_spread(void **state) {
    (void)state;
    enum { N = 1 << 18 };
    float *values = malloc(N * sizeof *values);
    uint8_t *data = malloc(N * sizeof *values);
    for (size_t k = 0; k < N_TYPES; k++) {
        synth_blocks blocks;
        st_synth_blocks_init(&blocks, all_types[k], 0.02f, 11);
        st_synth_blocks_fill(&blocks, data, N);
        st_dequantize(all_types[k], data, values, N);
        double sum = 0, squares = 0, most = 0;
        for (int i = 0; i < N; i++) {
            assert_true(isfinite(values[i]));
            sum += values[i];
            squares += (double)values[i] * values[i];
            if (fabs((double)values[i]) > most) most = fabs((double)values[i]);
        }
        double mean = sum / N, spread = sqrt(squares / N - mean * mean);
        if (fabs(mean) > 0.01 * 0.02 || fabs(spread / 0.02 - 1) > 0.02 || most > 6 * 0.02)
            fail_msg("%s: mean %g, spread %g, largest %g", st_type_find(all_types[k])->name, mean, spread, most);
    }
    free(values);
    free(data);
}

static void q8_blocks_keep_off_minus_128(void **state) {
    (void)state;
    static uint8_t data[34 * 4096];
    synth_blocks blocks;
    st_synth_blocks_init(&blocks, ST_Q8_0, 1.0f, 3);
    st_synth_blocks_fill(&blocks, data, 32 * 4096);
    bool seen_value[256] = {false};
    for (size_t b = 0; b < 4096; b++)
        for (size_t i = 2; i < 34; i++) seen_value[data[34 * b + i]] = true;
    for (unsigned v = 0; v < 256; v++) assert_int_equal(seen_value[v], v != 128);
}

/* ---- full-size shapes, from the plan: no weights are made ---- */

static const synth_tensor *planned(const synth_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->n; i++)
        if (strcmp(plan->tensors[i].name, name) == 0) return &plan->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

typedef struct wanted {
    const char *like, *tensor;
    uint64_t cols, rows;
} wanted;

/* clang-format off */
static const wanted published[] = {
    {"smollm2-135m", "token_embd.weight", 576, 49152},
    {"smollm2-135m", "blk.29.attn_k.weight", 576, 192},
    {"smollm2-135m", "blk.0.ffn_down.weight", 1536, 576},
    {"gemma3-270m", "blk.17.attn_output.weight", 1024, 640},
    {"gemma3-270m", "blk.17.attn_q_norm.weight", 256, 1},
    {"gemma3-1b", "token_embd.weight", 1152, 262144},
    {"gemma3-1b", "blk.25.ffn_up.weight", 1152, 6912},
    {"llama-3.2-1b", "blk.15.attn_v.weight", 2048, 512},
    {"llama-3.2-1b", "rope_freqs.weight", 32, 1},
    {"qwen3-0.6b", "blk.27.attn_q.weight", 1024, 2048},
    {"qwen3-0.6b", "blk.27.attn_k_norm.weight", 128, 1},
    {"gemma4-e2b", "per_layer_token_embd.weight", 8960, 262144},
    {"gemma4-e2b", "per_layer_model_proj.weight", 1536, 8960},
    {"gemma4-e2b", "blk.13.attn_q.weight", 1536, 2048},
    {"gemma4-e2b", "blk.14.attn_q.weight", 1536, 4096},
    {"gemma4-e2b", "blk.14.attn_k.weight", 1536, 512},
    {"gemma4-e2b", "blk.14.ffn_gate.weight", 1536, 6144},
    {"gemma4-e2b", "blk.15.ffn_gate.weight", 1536, 12288},
    {"gemma4-e2b", "blk.34.proj.weight", 256, 1536},
    {"gemma4-e2b", "rope_freqs.weight", 256, 1},
    {"gemma4-e4b", "blk.41.attn_k.weight", 2560, 1024},
    {"gemma4-e4b", "blk.40.attn_k.weight", 2560, 512},
    {"gemma4-e4b", "blk.41.ffn_down.weight", 10240, 2560},
    {"gemma4-e4b", "per_layer_token_embd.weight", 10752, 262144},
};

/* clang-format on */

static void full_size_shapes_are_the_published_ones(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        synth_plan plan = {0};
        st_synth_plan(&plan, st_synth_shape(published[i].like), ST_Q4_0);
        assert_false(plan.failed);
        const synth_tensor *t = planned(&plan, published[i].tensor);
        if (t->cols != published[i].cols || t->rows != published[i].rows)
            fail_msg("%s: %s is %llu x %llu", published[i].like, t->name, (unsigned long long)t->cols,
                     (unsigned long long)t->rows);
        free(plan.tensors);
    }
}

/* Parameters as published: 134.5 M, 268 M, 1.0 B, 1.24 B, 596 M, 4.65 B text (5.1 B with the encoders), 7.52 B text. */
static void parameter_counts_are_the_published_ones(void **state) {
    (void)state;
    static const struct {
        const char *like;
        double millions;
    } counts[] = {
        {"smollm2-135m", 134.5},  {"gemma3-270m", 268.1}, {"gemma3-1b", 999.9},
        {"llama-3.2-1b", 1235.8}, {"qwen3-0.6b", 596.0},  {"gemma4-e4b", 7518},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        synth_plan plan = {0};
        double n = 0;
        st_synth_plan(&plan, st_synth_shape(counts[i].like), ST_F16);
        for (size_t j = 0; j < plan.n; j++) n += (double)plan.tensors[j].cols * (double)plan.tensors[j].rows;
        free(plan.tensors);
        if (fabs(n / 1e6 / counts[i].millions - 1) > 0.002)
            fail_msg("%s has %.1f million weights", counts[i].like, n / 1e6);
    }
}

/* ---- files ---- */

static void check_file(const char *like, uint32_t type) {
    st_synth_options options = options_of(like, type, 8);
    const synth_shape *full = st_synth_shape(like);
    synth_shape small = st_synth_shrink(full, 1, 8);
    st_gguf *g = write_and_open(path_a, &options);
    char key[64];
    snprintf(key, sizeof key, "%s.block_count", full->arch);
    assert_int_equal(u32_of(g, key), full->n_layers);
    snprintf(key, sizeof key, "%s.embedding_length", full->arch);
    assert_int_equal(u32_of(g, key), full->d_model / 8);
    const st_tensor *embed = tensor_of(g, "token_embd.weight");
    assert_int_equal(embed->dims[1], full->n_vocab / 8);
    assert_int_equal(st_gguf_find(g, "tokenizer.ggml.tokens")->count, full->n_vocab / 8);
    assert_int_equal(st_gguf_find(g, "tokenizer.ggml.token_type")->count, full->n_vocab / 8);
    synth_plan plan = {0};
    st_synth_plan(&plan, &small, type);
    assert_int_equal(plan.n, g->n_tensors);
    for (size_t i = 0; i < plan.n; i++) {
        const st_tensor *t = tensor_of(g, plan.tensors[i].name);
        assert_int_equal(t->dims[0], plan.tensors[i].cols);
        assert_int_equal(t->dims[1], plan.tensors[i].rows);
        assert_int_equal(t->type, plan.tensors[i].type);
        assert_true(t->n_dims == 1
                        ? t->type == ST_F32
                        : t->type == type || t->dims[0] % st_type_find(type)->block_len || t->type == ST_BF16);
    }
    free(plan.tensors);
    st_gguf_close(g);
}

static void every_model_makes_a_file_of_its_shapes(void **state) {
    (void)state;
    for (size_t i = 0; st_synth_name(i); i++) {
        check_file(st_synth_name(i), ST_Q4_0);
        check_file(st_synth_name(i), ST_Q4_K);
    }
}

static void every_file_loads_as_a_model(void **state) {
    (void)state;
    const st_kern *kern = NULL;
    stretto_error err = {0};
    assert_int_equal(st_kern_select(&kern, "scalar", &err), 0);
    for (size_t i = 0; st_synth_name(i); i++) {
        st_synth_options options = options_of(st_synth_name(i), i % 2 ? ST_Q8_0 : ST_Q4_K, 8);
        const synth_shape *full = st_synth_shape(options.like);
        st_gguf *g = write_and_open(path_a, &options);
        st_model *model = NULL;
        st_model_options load = {.kern = kern};
        if (st_model_load(&model, g, &load, &err)) fail_msg("%s: %s", options.like, err.text);
        assert_int_equal(model->n_layers, full->n_layers);
        assert_int_equal(model->n_vocab, full->n_vocab / 8);
        assert_true(model->tied);
        for (uint32_t l = 0; l < full->n_layers; l++) {
            assert_int_equal(model->layers[l].window, st_synth_slides(full, l) ? full->window : 0);
            assert_int_equal(model->layers[l].kv_layer == l, l < full->n_layers - full->n_shared);
        }
        st_model_free(model);
        st_gguf_close(g);
    }
}

static int compare_strings(const void *a, const void *b) {
    const st_str *x = a, *y = b;
    int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static void check_vocabulary(const char *like, uint32_t den) {
    st_synth_options options = options_of(like, ST_Q4_0, den);
    st_gguf *g = write_and_open(path_a, &options);
    const st_value *tokens = st_gguf_find(g, "tokenizer.ggml.tokens"),
                   *merges = st_gguf_find(g, "tokenizer.ggml.merges");
    st_str *sorted = calloc(tokens->count, sizeof *sorted);
    size_t cursor = 0;
    for (uint64_t i = 0; i < tokens->count; i++) sorted[i] = st_value_next_string(tokens, &cursor);
    qsort(sorted, tokens->count, sizeof *sorted, compare_strings);
    for (uint64_t i = 1; i < tokens->count; i++)
        if (compare_strings(&sorted[i - 1], &sorted[i]) == 0)
            fail_msg("%s: %.*s twice", like, (int)sorted[i].len, sorted[i].data);
    cursor = 0;
    for (uint64_t i = 0; merges && i < merges->count; i++) { /* both halves and their join are tokens */
        st_str merge = st_value_next_string(merges, &cursor);
        const char *space = memchr(merge.data, ' ', merge.len);
        assert_non_null(space);
        st_str first = {merge.data, (size_t)(space - merge.data)}, second = {space + 1, merge.len - first.len - 1},
               both;
        char joined[256];
        memcpy(joined, first.data, first.len);
        memcpy(joined + first.len, second.data, second.len);
        both = (st_str){joined, first.len + second.len};
        assert_non_null(bsearch(&first, sorted, tokens->count, sizeof first, compare_strings));
        assert_non_null(bsearch(&second, sorted, tokens->count, sizeof first, compare_strings));
        assert_non_null(bsearch(&both, sorted, tokens->count, sizeof first, compare_strings));
    }
    free(sorted);
    st_gguf_close(g);
}

static void vocabularies_are_consistent(void **state) {
    (void)state;
    for (size_t i = 0; st_synth_name(i); i++) {
        check_vocabulary(st_synth_name(i), 16);
        check_vocabulary(st_synth_name(i), 4096); /* as small as it gets */
    }
}

static void special_tokens_stand_where_real_files_have_them(void **state) {
    (void)state;
    static const struct {
        const char *like;
        uint32_t bos, eos;
    } ids[] = {
        {"smollm2-135m", 1, 2},
        {"gemma3-270m", 2, 1},
        {"gemma4-e2b", 2, 106},
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        st_synth_options options = options_of(ids[i].like, ST_Q4_0, 32);
        st_gguf *g = write_and_open(path_a, &options);
        assert_int_equal(u32_of(g, "tokenizer.ggml.bos_token_id"), ids[i].bos);
        assert_int_equal(u32_of(g, "tokenizer.ggml.eos_token_id"), ids[i].eos);
        st_gguf_close(g);
    }
    /* At full size those of Llama 3 begin at 128000 and those of Qwen at 151643. */
    assert_int_equal(st_synth_shape("llama-3.2-1b")->n_vocab - 256, 128000);
    assert_int_equal(st_synth_shape("qwen3-0.6b")->n_vocab - 293, 151643);
}

static bool same_files(const char *a, const char *b) {
    st_gguf *x = NULL, *y = NULL;
    stretto_error err;
    assert_int_equal(st_gguf_open(&x, a, NULL, &err), 0);
    assert_int_equal(st_gguf_open(&y, b, NULL, &err), 0);
    bool same = x->size == y->size && memcmp(x->base, y->base, x->size) == 0;
    st_gguf_close(x);
    st_gguf_close(y);
    return same;
}

static void a_seed_gives_the_same_bytes(void **state) {
    (void)state;
    stretto_error err;
    st_synth_options options = options_of("smollm2-135m", ST_Q5_K, 4);
    assert_int_equal(st_synth_write(path_a, &options, &err), 0);
    assert_int_equal(st_synth_write(path_b, &options, &err), 0);
    assert_true(same_files(path_a, path_b));
    options.seed++;
    assert_int_equal(st_synth_write(path_b, &options, &err), 0);
    assert_false(same_files(path_a, path_b));
}

/* Frozen on x86-64: the same seed must give these on every machine and compiler. */
static void the_bytes_do_not_depend_on_the_machine(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t sum;
    } frozen[] = {
        {ST_F32, 0xb8bddde2858908e1},  {ST_F16, 0x930fd4dd219bb414},  {ST_BF16, 0x140be128a63846bb},
        {ST_Q8_0, 0xd9ccf9b1abc0aaec}, {ST_Q5_1, 0x672f5c91fc3e975d}, {ST_Q2_K, 0x336a05e4e7028af5},
        {ST_Q4_K, 0x1403dc3e0cc555aa}, {ST_Q6_K, 0x1acbc4ac1d6b7371}, {ST_IQ4_XS, 0x6a39f3cd9375bd48},
    };
    for (size_t k = 0; k < sizeof frozen / sizeof frozen[0]; k++) {
        uint8_t data[4096];
        synth_blocks blocks;
        const st_type_info *info = st_type_find(frozen[k].type);
        size_t bytes = 1024 / info->block_len * info->block_bytes;
        st_synth_blocks_init(&blocks, frozen[k].type, 0.03f, 5);
        st_synth_blocks_fill(&blocks, data, 1024);
        uint64_t sum = 0xcbf29ce484222325u;
        for (size_t i = 0; i < bytes; i++) sum = (sum ^ data[i]) * 0x100000001b3u;
        if (sum != frozen[k].sum) fail_msg("%s: 0x%016llx", info->name, (unsigned long long)sum);
    }
}

static void fallbacks_are_told_once_a_row_length(void **state) {
    (void)state;
    seen s = {0};
    st_log log = {keep_log, &s};
    st_synth_options options = options_of("smollm2-135m", ST_Q4_K, 8);
    options.log = &log;
    st_gguf_close(write_and_open(path_a, &options));
    assert_string_equal(
        s.text, "rows of 72 are not whole Q4_K blocks of 256: F16 for token_embd, attn_q, attn_k, attn_v, attn_output, "
                "ffn_gate, ffn_up\n"
                "rows of 192 are not whole Q4_K blocks of 256: Q5_0 for ffn_down\n");
    s.text[0] = '\0';
    options = options_of("llama-3.2-1b", ST_Q4_K, 8);
    options.log = &log;
    st_gguf_close(write_and_open(path_a, &options));
    assert_string_equal(s.text, "");
}

static void a_vocabulary_stops_shrinking(void **state) {
    (void)state;
    seen s = {0};
    st_log log = {keep_log, &s};
    st_synth_options options = options_of("gemma3-270m", ST_F16, 1000);
    options.log = &log;
    st_gguf *g = write_and_open(path_a, &options);
    assert_int_equal(tensor_of(g, "token_embd.weight")->dims[1], st_synth_vocab_least(SYNTH_GEMMA3));
    assert_non_null(strstr(s.text, "vocabulary"));
    st_gguf_close(g);
}

static void progress_runs_to_the_end(void **state) {
    (void)state;
    seen s = {0};
    st_synth_options options = options_of("gemma3-270m", ST_Q8_0, 4);
    options.progress = keep_progress;
    options.progress_arg = &s;
    st_gguf_close(write_and_open(path_a, &options));
    assert_true(s.calls > 3 && s.in_order);
    assert_int_equal(s.done, s.total);
}

static void a_stop_leaves_nothing_behind(void **state) {
    (void)state;
    seen s = {.stop_after = 2};
    stretto_error err = {0};
    st_synth_options options = options_of("gemma3-270m", ST_Q8_0, 4);
    options.progress = keep_progress;
    options.progress_arg = &s;
    options.stop = &s.stop;
    unlink(path_a);
    assert_int_equal(st_synth_write(path_a, &options, &err), STRETTO_E_STOPPED);
    assert_true(s.done < s.total);
    assert_int_not_equal(access(path_a, F_OK), 0);
    char part[80];
    snprintf(part, sizeof part, "%s.part", path_a);
    assert_int_not_equal(access(part, F_OK), 0);
}

static void wrong_options_are_named(void **state) {
    (void)state;
    stretto_error err = {0};
    st_synth_options options = options_of("gpt-5", ST_Q4_0, 8);
    assert_int_equal(st_synth_write(path_a, &options, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "gpt-5"));
    assert_non_null(strstr(err.text, "gemma4-e2b"));
    options = options_of("smollm2-135m", ST_I8, 8);
    assert_int_equal(st_synth_write(path_a, &options, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "I8"));
    assert_non_null(strstr(err.text, "Q4_K"));
    options = options_of("smollm2-135m", 42, 8);
    assert_int_equal(st_synth_write(path_a, &options, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "42"));
    options = options_of("smollm2-135m", ST_Q4_0, 8);
    options.scale_num = 9;
    assert_int_equal(st_synth_write(path_a, &options, &err), STRETTO_E_USAGE);
    assert_non_null(strstr(err.text, "9/8"));
    options.scale_num = 0;
    assert_int_equal(st_synth_write(path_a, &options, &err), STRETTO_E_USAGE);
    options = options_of("smollm2-135m", ST_Q4_0, 8);
    assert_int_equal(st_synth_write("/no/such/folder/x.gguf", &options, &err), STRETTO_E_IO);
    assert_non_null(strstr(err.text, "/no/such/folder/x.gguf"));
}

/* A limit on the file's size stands in for a full disk. */
static void a_full_disk_is_told(void **state) {
    (void)state;
    stretto_error err = {0};
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = {.rlim_cur = 1 << 20, .rlim_max = limit.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    unlink(path_a);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    st_synth_options options = options_of("smollm2-135m", ST_F32, 4);
    int code = st_synth_write(path_a, &options, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, before);
    assert_int_equal(code, STRETTO_E_IO);
    assert_non_null(strstr(err.text, path_a));
    assert_int_not_equal(access(path_a, F_OK), 0);
}

static void scales_are_read(void **state) {
    (void)state;
    stretto_error err = {0};
    uint32_t num = 0, den = 0;
    assert_int_equal(st_synth_scale_parse("3/16", &num, &den, &err), 0);
    assert_int_equal(num, 3);
    assert_int_equal(den, 16);
    assert_int_equal(st_synth_scale_parse("1", &num, &den, &err), 0);
    assert_int_equal(num, den);
    static const char *const wrong[] = {"",     "0",    "0/4",  "2",    "5/4", "1/",           "/8",
                                        "1/8x", "-1/8", "1/-8", " 1/8", "0.5", "1/99999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(st_synth_scale_parse(wrong[i], &num, &den, &err), STRETTO_E_USAGE);
        if (*wrong[i]) assert_non_null(strstr(err.text, wrong[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_have_the_wanted_spread),
        cmocka_unit_test(q8_blocks_keep_off_minus_128),
        cmocka_unit_test(the_bytes_do_not_depend_on_the_machine),
        cmocka_unit_test(full_size_shapes_are_the_published_ones),
        cmocka_unit_test(parameter_counts_are_the_published_ones),
        cmocka_unit_test(every_model_makes_a_file_of_its_shapes),
        cmocka_unit_test(every_file_loads_as_a_model),
        cmocka_unit_test(vocabularies_are_consistent),
        cmocka_unit_test(special_tokens_stand_where_real_files_have_them),
        cmocka_unit_test(a_seed_gives_the_same_bytes),
        cmocka_unit_test(fallbacks_are_told_once_a_row_length),
        cmocka_unit_test(a_vocabulary_stops_shrinking),
        cmocka_unit_test(progress_runs_to_the_end),
        cmocka_unit_test(a_stop_leaves_nothing_behind),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(scales_are_read),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
