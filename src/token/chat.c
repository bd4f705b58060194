/* SPDX-License-Identifier: MIT
 * Conversations as ids. Markers are put in as ids; all that comes from the user is encoded as plain text, so it can
 * never close a turn or open another. Text between two markers is encoded as a whole, as it would be if the template
 * were run. */
#include "token/tokenizer.h"

#include "base/error.h"
#include "gguf/message.h"
#include "token/template.h"
#include "token/utf8.h"

#include <string.h>

static const char *const family_names[] = {
    [ST_CHAT_NONE] = NULL,     [ST_CHAT_CHATML] = "chatml", [ST_CHAT_LLAMA3] = "llama3",
    [ST_CHAT_GEMMA] = "gemma", [ST_CHAT_GEMMA4] = "gemma4",
};

const char *st_chat_family(const st_tokenizer *tok) {
    return family_names[st_template_kind(tok->template_text)];
}

/* A conversation being written. The first failure sticks, later steps do nothing. */
typedef struct writing {
    const st_tokenizer *tok;
    st_template template;
    st_buf text; /* since the last marker */
    st_ids *ids;
    stretto_error *err;
    int code;
} writing;

static void text_add(writing *w, const char *text, size_t n) {
    st_buf_add(&w->text, text, n);
}
static void string_add(writing *w, const char *text) {
    st_buf_text(&w->text, text);
}

static void text_flush(writing *w) {
    if (w->code) return;
    if (w->text.failed)
        w->code = st_fail_memory(w->err, "the conversation", w->text.len);
    else if (w->text.len > 0)
        w->code = st_tokenizer_encode(w->tok, w->text.data, w->text.len, false, false, w->ids, w->err);
    w->text.len = 0;
}

static void marker_add(writing *w, const char *name) {
    text_flush(w);
    if (w->code) return;
    int32_t id = st_vocab_find(&w->tok->vocab, name, strlen(name));
    if (id >= 0)
        w->code = st_ids_add(w->ids, id, w->err);
    else
        w->code = st_gguf_refuse(w->tok->gguf, w->err,
                                 "the chat template needs the token %s, which the vocabulary lacks", name);
}

static st_str trimmed(const char *text, size_t n) {
    unsigned space;
    while (n > 0 && (space = st_utf8_space_first(text, n)) > 0) {
        text += space;
        n -= space;
    }
    while (n > 0 && (space = st_utf8_space_last(text, n)) > 0) n -= space;
    return (st_str){text, n};
}

static st_str turn_text(const writing *w, const st_chat_turn *turn) {
    return w->template.trims ? trimmed(turn->text, turn->len) : (st_str){turn->text, turn->len};
}

static void turn_add(writing *w, const st_chat_turn *turn) {
    st_str text = turn_text(w, turn);
    text_add(w, text.data, text.len);
}

static bool is_role(const st_chat_turn *turn, const char *role) {
    return strcmp(turn->role, role) == 0;
}

/* ChatML (OpenAI 2023): <|im_start|>ROLE\nTEXT<|im_end|>\n */
static void chatml_head(writing *w, const char *role) {
    marker_add(w, "<|im_start|>");
    string_add(w, role);
    string_add(w, "\n");
}

static void chatml_tail(writing *w) {
    marker_add(w, "<|im_end|>");
    string_add(w, "\n");
}

static void chatml_write(writing *w, const st_chat_turn *turns, size_t n) {
    if (w->template.has_system && !is_role(&turns[0], "system")) {
        chatml_head(w, "system");
        text_add(w, w->template.default_system.data, w->template.default_system.len);
        chatml_tail(w);
    }
    for (size_t i = 0; i < n; i++) {
        chatml_head(w, turns[i].role);
        turn_add(w, &turns[i]);
        chatml_tail(w);
    }
    marker_add(w, "<|im_start|>");
    string_add(w, "assistant");
    text_add(w, w->template.opening.data, w->template.opening.len);
}

/* Llama 3: <|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|> */
static void llama3_head(writing *w, const char *role) {
    marker_add(w, "<|start_header_id|>");
    string_add(w, role);
    marker_add(w, "<|end_header_id|>");
    string_add(w, "\n\n");
}

static void llama3_write(writing *w, const st_chat_turn *turns, size_t n) {
    size_t at = 0;
    if (w->template.has_system_head) {
        llama3_head(w, "system");
        text_add(w, w->template.system_head.data, w->template.system_head.len);
        if (is_role(&turns[0], "system")) turn_add(w, &turns[at++]);
        marker_add(w, "<|eot_id|>");
    }
    for (; at < n; at++) {
        llama3_head(w, turns[at].role);
        turn_add(w, &turns[at]);
        marker_add(w, "<|eot_id|>");
    }
    llama3_head(w, "assistant");
}

/* Gemma 1 to 3: <start_of_turn>user or model\nTEXT<end_of_turn>\n. There is no system role: its text stands, as it is,
 * in front of the next turn's. */
static void gemma_write(writing *w, const st_chat_turn *turns, size_t n) {
    bool open = false;
    for (size_t i = 0; i < n; i++) {
        if (!open) {
            marker_add(w, "<start_of_turn>");
            string_add(w, is_role(&turns[i], "assistant") ? "model\n" : "user\n");
            open = true;
        }
        if (is_role(&turns[i], "system")) {
            text_add(w, turns[i].text, turns[i].len);
            string_add(w, "\n\n");
            if (i + 1 < n && !is_role(&turns[i + 1], "assistant")) continue;
        } else {
            turn_add(w, &turns[i]);
        }
        marker_add(w, "<end_of_turn>");
        string_add(w, "\n");
        open = false;
    }
    marker_add(w, "<start_of_turn>");
    string_add(w, "model\n");
}

/* The assistant's text without what stands from each <|channel> to the next <channel|>. */
static void thoughts_cut(st_str text, st_buf *out) {
    static const char open[] = "<|channel>", close[] = "<channel|>";
    const char *at = text.data, *end = text.data + text.len;
    while (at < end) {
        const char *closing = memmem(at, (size_t)(end - at), close, strlen(close));
        const char *stop = closing ? closing : end;
        const char *opening = memmem(at, (size_t)(stop - at), open, strlen(open));
        st_buf_add(out, at, (size_t)((opening ? opening : stop) - at));
        at = closing ? closing + strlen(close) : end;
    }
}

static void gemma4_turn(writing *w, const st_chat_turn *turn) {
    st_buf spoken = {0};
    bool assistant = is_role(turn, "assistant"), cut = assistant && w->template.hides_thinking;
    marker_add(w, "<|turn>");
    string_add(w, assistant ? "model" : turn->role);
    string_add(w, "\n");
    if (cut) thoughts_cut((st_str){turn->text, turn->len}, &spoken);
    if (spoken.failed)
        w->code = st_fail_memory(w->err, "the conversation", turn->len);
    else
        turn_add(w, cut ? &(st_chat_turn){turn->role, spoken.data ? spoken.data : "", spoken.len} : turn);
    st_buf_free(&spoken);
    marker_add(w, "<turn|>");
    string_add(w, "\n");
}

/* Gemma 4: <|turn>system, user or model\nTEXT<turn|>\n */
static void gemma4_write(writing *w, const st_chat_turn *turns, size_t n) {
    for (size_t i = 0; i < n; i++) gemma4_turn(w, &turns[i]);
    marker_add(w, "<|turn>");
    string_add(w, "model\n");
    if (!w->template.skips_thinking) return;
    marker_add(w, "<|channel>");
    string_add(w, "thought\n");
    marker_add(w, "<channel|>");
}

static int turns_check(const st_chat_turn *turns, size_t n, stretto_error *err) {
    if (n == 0) return st_fail(err, STRETTO_E_USAGE, "a conversation needs at least one turn");
    for (size_t i = 0; i < n; i++)
        if (!is_role(&turns[i], "system") && !is_role(&turns[i], "user") && !is_role(&turns[i], "assistant"))
            return st_fail(err, STRETTO_E_USAGE,
                           "turn %zu has the role \"%s\"; these are known: system, user, assistant", i + 1,
                           turns[i].role);
    return 0;
}

static int kind_refuse(const st_tokenizer *tok, stretto_error *err) {
    if (tok->template_text.len == 0)
        return st_gguf_refuse(tok->gguf, err,
                              "no chat template (key tokenizer.chat_template is missing): this may be a "
                              "base model, which continues plain text");
    return st_gguf_refuse(tok->gguf, err,
                          "key tokenizer.chat_template is of no family known here (chatml, llama3, gemma, "
                          "gemma4); it starts with: %s",
                          ST_NAME(tok->template_text));
}

int st_chat_encode(const st_tokenizer *tok, const st_chat_turn *turns, size_t n_turns, st_ids *ids,
                   stretto_error *err) {
    static void (*const writers[])(writing *, const st_chat_turn *, size_t) = {
        [ST_CHAT_CHATML] = chatml_write,
        [ST_CHAT_LLAMA3] = llama3_write,
        [ST_CHAT_GEMMA] = gemma_write,
        [ST_CHAT_GEMMA4] = gemma4_write,
    };
    enum st_chat_kind kind = st_template_kind(tok->template_text);
    if (kind == ST_CHAT_NONE) return kind_refuse(tok, err);
    size_t n_before = ids->len;
    writing w = {.tok = tok, .ids = ids, .err = err};
    w.code = turns_check(turns, n_turns, err);
    if (w.code) return w.code;
    w.code = st_template_read(&w.template, kind, tok->template_text, err);
    if (!w.code && tok->bos >= 0 && (tok->adds_bos || w.template.names_bos)) w.code = st_ids_add(ids, tok->bos, err);
    if (!w.code) writers[kind](&w, turns, n_turns);
    text_flush(&w);
    if (w.code) ids->len = n_before;
    st_template_free(&w.template);
    st_buf_free(&w.text);
    return w.code;
}
