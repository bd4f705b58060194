/* SPDX-License-Identifier: MIT
 * A made-up vocabulary of the right size and kind: the special tokens that matter (at the ids that they have in the
 * full models), all bytes, then pieces of lower-case letters, each merged from two shorter ones, in rank order:
 *
 *   1. space + letter   2. letter + letter   3. (1) + letter   4. (2) + letter   5. (1) + (2)   6. (2) + (2)
 *
 * Concatenations are all different, every text can be encoded, and English comes out at two to three letters a token.
 */
#include "base/buf.h"
#include "base/error.h"
#include "gguf/gguf.h"
#include "model/synth_impl.h"
#include "token/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum token_type { T_NORMAL = 1, T_UNKNOWN = 2, T_CONTROL = 3, T_USER = 4, T_UNUSED = 5, T_BYTE = 6 };

#define GEMMA_SPECIALS 107 /* named and unused ones, before the runs */
#define GEMMA_RUN 31       /* longest run of newlines or spaces */
#define LEAST_PIECES 128
#define SPACE "\xe2\x96\x81" /* U+2581, which stands for a space in Gemma's vocabularies */

typedef struct special {
    uint32_t at; /* id, counted from the first special token */
    const char *text;
} special;

/* clang-format off */
static const special smollm_specials[] = {
    {0, "<|endoftext|>"}, {1, "<|im_start|>"}, {2, "<|im_end|>"}, {3, "<repo_name>"}, {4, "<reponame>"},
    {5, "<file_sep>"}, {6, "<filename>"}, {7, "<gh_stars>"}, {8, "<issue_start>"}, {9, "<issue_comment>"},
    {10, "<issue_closed>"}, {11, "<jupyter_start>"}, {12, "<jupyter_text>"}, {13, "<jupyter_code>"},
    {14, "<jupyter_output>"}, {15, "<jupyter_script>"}, {16, "<empty_output>"}, {0, NULL},
};
static const special llama_specials[] = {
    {0, "<|begin_of_text|>"}, {1, "<|end_of_text|>"}, {4, "<|finetune_right_pad_id|>"}, {6, "<|start_header_id|>"},
    {7, "<|end_header_id|>"}, {8, "<|eom_id|>"}, {9, "<|eot_id|>"}, {10, "<|python_tag|>"}, {0, NULL},
};
static const special qwen_specials[] = {{0, "<|endoftext|>"}, {1, "<|im_start|>"}, {2, "<|im_end|>"}, {0, NULL}};
static const special gemma3_specials[] = {
    {0, "<pad>"}, {1, "<eos>"}, {2, "<bos>"}, {3, "<unk>"}, {4, "<mask>"}, {105, "<start_of_turn>"},
    {106, "<end_of_turn>"}, {0, NULL},
};
static const special gemma4_specials[] = {
    {0, "<pad>"}, {1, "<eos>"}, {2, "<bos>"}, {3, "<unk>"}, {4, "<mask>"}, {46, "<|tool>"}, {47, "<tool|>"},
    {48, "<|tool_call>"}, {49, "<tool_call|>"}, {50, "<|tool_response>"}, {51, "<tool_response|>"}, {52, "<|\"|>"},
    {98, "<|think|>"}, {100, "<|channel>"}, {101, "<channel|>"}, {105, "<|turn>"}, {106, "<turn|>"}, {0, NULL},
};

/* clang-format on */

/* What a kind of vocabulary is: n_special tokens, those without a name called FILLER with their number. */
typedef struct kind {
    const char *model, *pre, *filler;
    const special *specials;
    uint32_t n_special;
    int32_t bos, eos, pad, unk; /* counted from the first special token; -1: not said */
    bool specials_last, gemma, add_bos;
    uint8_t filler_type;
    const char *chat;
} kind;

/* clang-format off */
#define CHATML                                                                                                         \
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "  \
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
#define CHAT_LLAMA3                                                                                                    \
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "                        \
    "'<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}{% if "                        \
    "add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
#define CHAT_GEMMA(open, close)                                                                                        \
    "{{ bos_token }}{% for message in messages %}{{ '" open "' + (message['role'] if message['role'] != 'assistant' "  \
    "else 'model') + '\\n' + message['content'] | trim + '" close "\\n' }}{% endfor %}{% if add_generation_prompt %}"  \
    "{{ '" open "model\\n' }}{% endif %}"

static const kind kinds[] = {
    [SYNTH_SMOLLM] = {.model = "gpt2", .pre = "smollm", .filler = "<unused%u>", .specials = smollm_specials,
                      .n_special = 17, .bos = 1, .eos = 2, .pad = 2, .unk = 0, .chat = CHATML},
    [SYNTH_LLAMA3] = {.model = "gpt2", .pre = "llama-bpe", .filler = "<|reserved_special_token_%u|>",
                      .specials = llama_specials, .n_special = 256, .bos = 0, .eos = 9, .pad = 4, .unk = -1,
                      .specials_last = true, .add_bos = true, .filler_type = T_CONTROL, .chat = CHAT_LLAMA3},
    [SYNTH_QWEN2] = {.model = "gpt2", .pre = "qwen2", .filler = "[PAD%u]", .specials = qwen_specials,
                     .n_special = 293, .bos = 0, .eos = 2, .pad = 0, .unk = -1, .specials_last = true,
                     .filler_type = T_UNUSED, .chat = CHATML},
    [SYNTH_GEMMA3] = {.model = "llama", .pre = "default", .filler = "<unused%u>", .specials = gemma3_specials,
                      .n_special = GEMMA_SPECIALS, .bos = 2, .eos = 1, .pad = 0, .unk = 3, .gemma = true,
                      .add_bos = true, .filler_type = T_CONTROL,
                      .chat = CHAT_GEMMA("<start_of_turn>", "<end_of_turn>")},
    [SYNTH_GEMMA4] = {.model = "gemma4", .pre = "gemma4", .filler = "<unused%u>", .specials = gemma4_specials,
                      .n_special = GEMMA_SPECIALS, .bos = 2, .eos = 106, .pad = 0, .unk = 3, .gemma = true,
                      .add_bos = true, .filler_type = T_NORMAL,
                      .chat = CHAT_GEMMA("<|turn>", "<turn|>")},
};

/* clang-format on */

/* Printable ASCII; elsewhere bytes do it. */
static uint32_t n_characters(const kind *k) {
    return k->gemma ? 95 : 0;
}

static uint32_t n_fixed(const kind *k) {
    return k->n_special + 256 + n_characters(k) + (k->gemma ? 2 * GEMMA_RUN - 1 : 0);
}

uint32_t st_synth_vocab_least(enum synth_vocab_kind which) {
    return (n_fixed(&kinds[which]) + LEAST_PIECES + 7) / 8 * 8;
}

/* ---- lists of strings ---- */

typedef struct strings {
    st_buf text;
    size_t *ends; /* [n] owned */
    size_t n, cap;
    bool failed;
} strings;

static void strings_add(strings *s, const char *text, size_t len) {
    if (s->failed) return;
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 4096;
        size_t *grown = realloc(s->ends, cap * sizeof *grown);
        if (!grown) {
            s->failed = true;
            return;
        }
        s->ends = grown;
        s->cap = cap;
    }
    st_buf_add(&s->text, text, len);
    s->ends[s->n++] = s->text.len;
}

static void strings_free(strings *s) {
    st_buf_free(&s->text);
    free(s->ends);
    memset(s, 0, sizeof *s);
}

static int strings_write(st_gguf_writer *w, const char *key, const strings *s, stretto_error *err) {
    const char **values = calloc(s->n + 1, sizeof *values);
    size_t *lens = calloc(s->n + 1, sizeof *lens);
    bool ok = values && lens && !s->failed && !s->text.failed;
    for (size_t i = 0; ok && i < s->n; i++) {
        size_t start = i ? s->ends[i - 1] : 0;
        values[i] = s->text.data + start;
        lens[i] = s->ends[i] - start;
    }
    if (ok) st_writer_strings(w, key, values, lens, s->n);
    free(values);
    free(lens);
    return ok ? 0 : st_fail_memory(err, key, s->n * (sizeof *values + sizeof *lens));
}

/* ---- tokens ---- */

typedef struct vocab {
    const kind *kind;
    strings tokens, merges;
    uint8_t *types; /* [n_vocab] */
    uint32_t n_vocab;
    uint32_t n_pieces; /* merged pieces, from id first_piece on */
    uint32_t first_piece, first_special;
    char bytes[256][5]; /* UTF-8 stand-in of each byte, in GPT-2's vocabularies */
} vocab;

static void add_token(vocab *v, const char *text, size_t len, uint8_t type) {
    if (v->tokens.n < v->n_vocab) v->types[v->tokens.n] = type;
    strings_add(&v->tokens, text, len);
}

/* <eos> is not marked as control in Gemma 4's files, and some control tokens are, so that programs show them. */
static uint8_t special_type(const kind *k, uint32_t at) {
    if (k->specials == gemma3_specials && at == 3) return T_UNKNOWN;
    if (k->specials != gemma4_specials) return T_CONTROL;
    if (at == 1) return T_NORMAL;
    return (at >= 48 && at <= 52) || at == 100 || at == 101 ? T_USER : T_CONTROL;
}

static void add_specials(vocab *v) {
    const kind *k = v->kind;
    v->first_special = (uint32_t)v->tokens.n;
    const special *next = k->specials;
    bool pads = k->filler_type == T_UNUSED; /* numbered by id */
    for (uint32_t at = 0, filler = 0; at < k->n_special; at++) {
        if (next->text && next->at == at) {
            add_token(v, next->text, strlen(next->text), special_type(k, at));
            next++;
            continue;
        }
        char text[48];
        int n = snprintf(text, sizeof text, "%.*s%u%s", (int)(strchr(k->filler, '%') - k->filler), k->filler,
                         pads ? (unsigned)v->tokens.n : filler, strchr(k->filler, '%') + 2);
        add_token(v, text, (size_t)n, k->filler_type);
        filler++;
    }
}

static void name_bytes(vocab *v) {
    for (unsigned b = 0; b < 256; b++) v->bytes[b][st_bpe_spell((unsigned char)b, v->bytes[b])] = '\0';
}

static void add_bytes(vocab *v) {
    for (unsigned b = 0; b < 256; b++) {
        char text[8];
        int n = v->kind->gemma ? snprintf(text, sizeof text, "<0x%02X>", b)
                               : snprintf(text, sizeof text, "%s", v->bytes[b]);
        add_token(v, text, (size_t)n, v->kind->gemma ? T_BYTE : T_NORMAL);
    }
}

static void add_repeated(st_buf *out, const char *text, unsigned times) {
    for (unsigned i = 0; i < times; i++) st_buf_text(out, text);
}

/* Runs of newlines (one included) and of spaces are tokens of their own. Gemma 3's are user-defined, with real spaces.
 */
static void add_runs(vocab *v) {
    bool four = v->kind->specials == gemma4_specials;
    for (int spaces = 0; spaces < 2; spaces++)
        for (unsigned len = spaces ? 2 : 1; len <= GEMMA_RUN; len++) {
            st_buf run = {0};
            add_repeated(&run, !spaces ? "\n" : four ? SPACE : " ", len);
            v->tokens.failed |= run.failed;
            add_token(v, run.data, run.len, four ? T_NORMAL : T_USER);
            st_buf_free(&run);
        }
}

/* Every split of every run, longest first part first. */
static void merge_runs(vocab *v) {
    for (unsigned first = GEMMA_RUN - 1; first >= 1; first--)
        for (unsigned second = GEMMA_RUN - first; second >= 1; second--)
            for (int spaces = 0; spaces < 2; spaces++) {
                st_buf merge = {0};
                add_repeated(&merge, spaces ? SPACE : "\n", first);
                st_buf_text(&merge, " ");
                add_repeated(&merge, spaces ? SPACE : "\n", second);
                v->merges.failed |= merge.failed;
                strings_add(&v->merges, merge.data, merge.len);
                st_buf_free(&merge);
            }
}

/* Piece j of a stage, as its two halves. A shrunk vocabulary ends inside a stage: a stride that is coprime to the
 * stage's size (a product of 2s and 13s) keeps all initials among those that are left. */
static void split_piece(unsigned stage, uint32_t size, uint32_t j, const char *space, char first[8], char second[8]) {
    static const struct {
        uint8_t space, first, second;
    } parts[] = {{1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {0, 2, 1}, {1, 1, 2}, {0, 2, 2}};
    uint32_t code = (uint32_t)((uint64_t)j * 10007 % size);
    char letters[4];
    for (int i = 3; i >= 0; i--, code /= 26) letters[i] = (char)('a' + code % 26);
    unsigned n_first = parts[stage].first, n_second = parts[stage].second;
    const char *at = letters + 4 - n_first - n_second;
    snprintf(first, 8, "%s%.*s", parts[stage].space ? space : "", (int)n_first, at);
    snprintf(second, 8, "%.*s", (int)n_second, at + n_first);
}

static void add_pieces(vocab *v) {
    static const uint32_t sizes[] = {26, 676, 676, 17576, 17576, 456976};
    const char *space = v->kind->gemma ? SPACE : v->bytes[' '];
    v->first_piece = (uint32_t)v->tokens.n;
    uint32_t left = v->n_pieces;
    for (unsigned stage = 0; stage < 6; stage++)
        for (uint32_t j = 0; j < sizes[stage] && left; j++, left--) {
            char first[8], second[8], text[16];
            split_piece(stage, sizes[stage], j, space, first, second);
            add_token(v, text, (size_t)snprintf(text, sizeof text, "%s%s", first, second), T_NORMAL);
            strings_add(&v->merges, text, (size_t)snprintf(text, sizeof text, "%s %s", first, second));
        }
}

/* The characters that pieces are made of, and the rest of printable ASCII. */
static void add_characters(vocab *v) {
    add_token(v, SPACE, strlen(SPACE), T_NORMAL);
    for (char c = '!'; c <= '~'; c++) add_token(v, &c, 1, T_NORMAL);
}

static void fill_vocab(vocab *v) {
    if (!v->kind->specials_last) add_specials(v);
    if (v->kind->gemma) {
        add_runs(v);
        merge_runs(v);
    }
    name_bytes(v);
    add_bytes(v);
    add_pieces(v);
    if (v->kind->gemma) add_characters(v);
    if (v->kind->specials_last) add_specials(v);
}

/* ---- metadata ---- */

static void write_id(st_gguf_writer *w, const vocab *v, const char *key, int32_t at) {
    if (at >= 0) st_writer_u32(w, key, v->first_special + (uint32_t)at);
}

static int write_types(st_gguf_writer *w, const vocab *v, stretto_error *err) {
    int32_t *types = calloc(v->n_vocab, sizeof *types);
    if (!types) return st_fail_memory(err, "token types", v->n_vocab * sizeof *types);
    for (uint32_t i = 0; i < v->n_vocab; i++) types[i] = v->types[i];
    st_writer_array(w, "tokenizer.ggml.token_type", ST_V_I32, types, v->n_vocab);
    free(types);
    return 0;
}

/* Pieces score by rank, single characters below them, everything else as in Gemma's files. */
static int write_scores(st_gguf_writer *w, const vocab *v, stretto_error *err) {
    float *scores = calloc(v->n_vocab, sizeof *scores);
    if (!scores) return st_fail_memory(err, "token scores", v->n_vocab * sizeof *scores);
    for (uint32_t i = 0; i < v->n_vocab; i++)
        scores[i] = i >= v->first_piece ? -(float)(i - v->first_piece) : v->types[i] == T_BYTE ? 0.0f : -1000.0f;
    st_writer_array(w, "tokenizer.ggml.scores", ST_V_F32, scores, v->n_vocab);
    free(scores);
    return 0;
}

static int write_vocab(st_gguf_writer *w, const vocab *v, stretto_error *err) {
    const kind *k = v->kind;
    st_writer_string(w, "tokenizer.ggml.model", k->model, strlen(k->model));
    st_writer_string(w, "tokenizer.ggml.pre", k->pre, strlen(k->pre));
    int code = strings_write(w, "tokenizer.ggml.tokens", &v->tokens, err);
    if (!code) code = write_types(w, v, err);
    if (!code && k->gemma) code = write_scores(w, v, err);
    if (!code && strcmp(k->model, "llama") != 0) code = strings_write(w, "tokenizer.ggml.merges", &v->merges, err);
    write_id(w, v, "tokenizer.ggml.bos_token_id", k->bos);
    write_id(w, v, "tokenizer.ggml.eos_token_id", k->eos);
    write_id(w, v, "tokenizer.ggml.padding_token_id", k->pad);
    write_id(w, v, "tokenizer.ggml.unknown_token_id", k->unk);
    st_writer_bool(w, "tokenizer.ggml.add_bos_token", k->add_bos);
    st_writer_bool(w, "tokenizer.ggml.add_space_prefix", false);
    st_writer_string(w, "tokenizer.chat_template", k->chat, strlen(k->chat));
    return code;
}

int st_synth_vocab(st_gguf_writer *w, enum synth_vocab_kind which, uint32_t n_vocab, stretto_error *err) {
    vocab *v = calloc(1, sizeof *v);
    uint8_t *types = calloc(n_vocab, 1);
    int code = v && types ? 0 : st_fail_memory(err, "vocabulary", n_vocab);
    if (!code) {
        v->kind = &kinds[which];
        v->types = types;
        v->n_vocab = n_vocab;
        v->n_pieces = n_vocab - n_fixed(v->kind);
        fill_vocab(v);
        code = write_vocab(w, v, err);
        strings_free(&v->tokens);
        strings_free(&v->merges);
    }
    free(types);
    free(v);
    return code;
}
