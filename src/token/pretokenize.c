/* SPDX-License-Identifier: MIT
 * The patterns are those of the models' tokenizer.json, and for "default" the one of llama.cpp, written as one
 * expression each: where theirs are several that cut one after another, a word here may also end where the next of
 * theirs would cut. No pattern has nested repetition, so a match takes time linear in its length. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "token/pretokenize.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gguf/message.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* Unicode's White_Space. PCRE2's own \s takes U+180E with it. */
#define SPACE "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
#define CONTRACTION "'s|'t|'re|'ve|'m|'ll|'d"
#define CONTRACTION_ANY_CASE "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
/* White space, but for a last one that belongs to the word behind it, unless that starts with one of `cut`. */
#define SPACES_BUT_LAST(cut) "[" SPACE "]+(?![^" SPACE cut "])|[" SPACE "]+"
#define OTHER " ?[^" SPACE "\\p{L}\\p{N}]+"
#define TAIL_2(with) "|" OTHER "[\\r\\n" with "]*|[" SPACE "]*[\\r\\n]+|" SPACES_BUT_LAST("")
/* Letters that a word of Mistral's "tekken" may begin and end with: it ends where a capital follows a small one. */
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define MARKS "\\p{P}$+<=>^~|" /* what "default" cuts out first */

typedef struct form {
    const char *names[12];
    const char *pattern;
    bool ignores_merges, wants_bos;
} form;

static const form forms[] = {
    {.names = {"gpt-2", "phi-2", "mpt", "olmo", "jais", "gigachat", "exaone4", "mellum", "a.x-4.0", "trillion"},
     .pattern = CONTRACTION "| ?\\p{L}+| ?\\p{N}+|" OTHER "|" SPACES_BUT_LAST("")},
    {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
     .pattern = "\\p{N}|" CONTRACTION "| ?\\p{L}+|" OTHER "|" SPACES_BUT_LAST("\\p{N}")},
    {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2", "midm-2.0"},
     .pattern = CONTRACTION_ANY_CASE "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" TAIL_2(""),
     .ignores_merges = true,
     .wants_bos = true},
    {.names = {"smaug-bpe", "dbrx"},
     .pattern = CONTRACTION_ANY_CASE "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" TAIL_2("")},
    {.names = {"tekken"},
     .pattern = "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "*" SMALL "+|[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "+" SMALL
                "*|\\p{N}" TAIL_2("/"),
     .ignores_merges = true,
     .wants_bos = true},
    {.names = {"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez"},
     .pattern = CONTRACTION_ANY_CASE "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" TAIL_2("")},
    {.names = {"default"},
     .pattern = "[" MARKS "]+| ?\\p{L}+|[0-9]{3}|(?:(?![0-9]{3})\\p{N})+| (?=\\p{N})| ?[^" SPACE "\\p{L}\\p{N}" MARKS
                "]+|" SPACES_BUT_LAST(MARKS)},
};

/* What a byte that is not UTF-8 is shown as to the pattern: SUBSTITUTE, of the same kind as U+FFFD in all of them. */
#define STAND_IN '\x1a'

/* Our patterns need next to none of it; a limit all the same. */
#define HEAP_LIMIT_KIB (64 * 1024)

struct st_pretokenizer {
    const form *form;
    pcre2_code *code;
    bool jit;
};

struct st_words {
    const st_pretokenizer *pre;
    const char *text;
    char *copy; /* of a text that is not UTF-8, made so; or NULL */
    size_t n, at;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static const form *form_find(st_str name) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (const char *const *known = forms[i].names; *known; known++)
            if (st_str_equal(name, *known)) return &forms[i];
    return NULL;
}

static int fail_unknown(st_str name, stretto_error *err) {
    st_buf known = {0};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (const char *const *at = forms[i].names; *at; at++)
            st_buf_printf(&known, "%s%s", known.len ? ", " : "", *at);
    int code = known.failed ? st_fail_memory(err, "a message", known.len)
                            : st_fail(err, STRETTO_E_INPUT,
                                      "key tokenizer.ggml.pre is \"%s\", which is not supported; these are: %s",
                                      ST_NAME(name), known.data);
    st_buf_free(&known);
    return code;
}

int st_pretokenizer_create(st_pretokenizer **out, st_str name, bool jit, stretto_error *err) {
    *out = NULL;
    const form *found = form_find(name);
    if (!found) return fail_unknown(name, err);
    st_pretokenizer *pre = st_alloc(1, sizeof *pre);
    if (!pre) return st_fail_memory(err, "the pre-tokenizer", sizeof *pre);
    int code = 0;
    PCRE2_SIZE offset;
    pre->form = found;
    pre->code = pcre2_compile((PCRE2_SPTR)found->pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED,
                              &code, &offset, NULL);
    if (!pre->code) {
        st_pretokenizer_destroy(pre);
        return st_fail(err, STRETTO_E_INTERNAL, "the pattern of %s does not compile: PCRE2 error %d at %zu",
                       found->names[0], code, (size_t)offset);
    }
    pre->jit = jit && pcre2_jit_compile(pre->code, PCRE2_JIT_COMPLETE) == 0;
    *out = pre;
    return 0;
}

void st_pretokenizer_destroy(st_pretokenizer *pre) {
    if (!pre) return;
    pcre2_code_free(pre->code);
    st_free(pre);
}

bool st_pretokenizer_ignores_merges(const st_pretokenizer *pre) {
    return pre->form->ignores_merges;
}
bool st_pretokenizer_wants_bos(const st_pretokenizer *pre) {
    return pre->form->wants_bos;
}

/* The first byte at or after `at` that is not UTF-8, or n. */
static size_t utf8_break(const char *text, size_t n, size_t at) {
    while (at < n) {
        unsigned len = st_utf8_length(text + at, n - at);
        if (len == 0) break;
        at += len;
    }
    return at;
}

/* Gives the pattern a copy that is UTF-8, byte for byte as long, if the text is not. */
static int text_clean(st_words *words, stretto_error *err) {
    size_t at = utf8_break(words->text, words->n, 0);
    if (at == words->n) return 0;
    words->copy = malloc(words->n);
    if (!words->copy) return st_fail_memory(err, "the text", words->n);
    memcpy(words->copy, words->text, words->n);
    while (at < words->n) {
        words->copy[at] = STAND_IN;
        at = utf8_break(words->copy, words->n, at);
    }
    words->text = words->copy;
    return 0;
}

int st_words_begin(st_words **out, const st_pretokenizer *pre, const char *text, size_t n, stretto_error *err) {
    *out = NULL;
    st_words *words = st_alloc(1, sizeof *words);
    if (!words) return st_fail_memory(err, "the words of the text", sizeof *words);
    *words = (st_words){.pre = pre, .text = text, .n = n};
    words->match = pcre2_match_data_create(1, NULL);
    words->limits = pcre2_match_context_create(NULL);
    int code = 0;
    if (!words->match || !words->limits) {
        code = st_fail_memory(err, "the words of the text", sizeof *words);
    } else {
        /* A run of spaces is tried from its far end back, one step each: the default of 10,000,000 would be a limit on
         * text. */
        pcre2_set_match_limit(words->limits, UINT32_MAX);
        pcre2_set_depth_limit(words->limits, UINT32_MAX);
        pcre2_set_heap_limit(words->limits, HEAP_LIMIT_KIB);
        code = text_clean(words, err);
    }
    if (code)
        st_words_end(words);
    else
        *out = words;
    return code;
}

static int match_at(st_words *words) {
    PCRE2_SPTR text = (PCRE2_SPTR)words->text;
    const st_pretokenizer *pre = words->pre;
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (pre->jit) found = pcre2_jit_match(pre->code, text, words->n, words->at, 0, words->match, words->limits);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = pcre2_match(pre->code, text, words->n, words->at, PCRE2_NO_JIT | PCRE2_NO_UTF_CHECK, words->match,
                            words->limits);
    return found;
}

int st_words_next(st_words *words, size_t *start, size_t *len, stretto_error *err) {
    if (words->at == words->n) return 0;
    int found = match_at(words);
    size_t end = found > 0 ? pcre2_get_ovector_pointer(words->match)[1] : 0;
    if (end <= words->at) {
        if (found == PCRE2_ERROR_HEAPLIMIT || found == PCRE2_ERROR_NOMEMORY)
            return st_fail_memory(err, "finding the words of the text", (uint64_t)HEAP_LIMIT_KIB * 1024);
        return st_fail(err, STRETTO_E_INTERNAL, "the pattern of %s finds no word at byte %zu: PCRE2 result %d",
                       words->pre->form->names[0], words->at, found);
    }
    *start = words->at;
    *len = end - words->at;
    words->at = end;
    return 1;
}

void st_words_end(st_words *words) {
    if (!words) return;
    pcre2_match_data_free(words->match);
    pcre2_match_context_free(words->limits);
    free(words->copy);
    st_free(words);
}
