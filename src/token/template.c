/* SPDX-License-Identifier: MIT */
#include "token/template.h"

#include "base/error.h"

#include <string.h>

/* Where `needle` next stands in text at or after `from`; text.len when it does not. */
static size_t find_from(st_str text, size_t from, const char *needle) {
    const char *at = from < text.len ? memmem(text.data + from, text.len - from, needle, strlen(needle)) : NULL;
    return at ? (size_t)(at - text.data) : text.len;
}

static bool contains(st_str text, const char *needle) {
    return find_from(text, 0, needle) < text.len;
}

/* "<|turn>" comes first: the others stand in no Gemma 4 template. */
enum st_chat_kind st_template_kind(st_str text) {
    if (contains(text, "<|turn>")) return ST_CHAT_GEMMA4;
    if (contains(text, "<start_of_turn>")) return ST_CHAT_GEMMA;
    if (contains(text, "<|start_header_id|>")) return ST_CHAT_LLAMA3;
    if (contains(text, "<|im_start|>")) return ST_CHAT_CHATML;
    return ST_CHAT_NONE;
}

static void escape_add(char c, st_buf *out) {
    static const char escapes[] = "nrt", meant[] = "\n\r\t";
    const char *known = c != '\0' ? strchr(escapes, c) : NULL;
    st_buf_add(out, known ? &meant[known - escapes] : &c, 1);
}

/* Appends what a string literal says from `at` to its end, or, outside of quotes, the text up to the next expression.
 * Returns where that is. */
static size_t literal_read(st_str text, size_t at, st_buf *out) {
    char quote = at > 0 ? text.data[at - 1] : '\0';
    bool quoted = quote == '\'' || quote == '"';
    for (; at < text.len; at++) {
        char c = text.data[at];
        bool brace = at + 1 < text.len && c == '{' && (text.data[at + 1] == '{' || text.data[at + 1] == '%');
        if (quoted ? c == quote : brace) break;
        if (quoted && c == '\\' && at + 1 < text.len)
            escape_add(text.data[++at], out);
        else
            st_buf_add(out, &c, 1);
    }
    return at;
}

/* Whether `name | trim` stands there, where the name may be the last of message['name']. */
static bool is_trimmed(st_str text, size_t at, const char *name) {
    static const char between[] = " \t\r\n'\"]|";
    bool bar = false;
    for (at += strlen(name); at < text.len && strchr(between, text.data[at]) && text.data[at] != '\0'; at++)
        bar = bar || text.data[at] == '|';
    return bar && text.len - at >= strlen("trim") && memcmp(text.data + at, "trim", strlen("trim")) == 0;
}

static bool trims_content(st_str text) {
    for (size_t at = find_from(text, 0, "content"); at < text.len; at = find_from(text, at + 1, "content"))
        if (is_trimmed(text, at, "content")) return true;
    return false;
}

/* A system turn that is written out whole is what the template says when it is given none. The search goes on behind
 * each literal, so that a hostile template is read once. */
static void default_system_read(st_template *read, st_str text) {
    static const char head[] = "<|im_start|>system";
    st_buf literal = {0};
    for (size_t at = find_from(text, 0, head); at < text.len && !read->has_system;) {
        literal.len = 0;
        size_t behind = literal_read(text, at, &literal);
        if (literal.failed) break;
        st_str said = {literal.data, literal.len};
        size_t start = strlen(head) + 1, end = find_from(said, 0, "<|im_end|>");
        at = find_from(text, behind, head);
        if (end == said.len || end < start || said.data[start - 1] != '\n') continue;
        read->has_system = true;
        st_buf_add(&read->default_system, said.data + start, end - start);
    }
    read->default_system.failed |= literal.failed;
    st_buf_free(&literal);
}

/* Some open the assistant's turn with more than a newline ("<think>"). The flag may also be given a default value at
 * the top, so the last place where it stands counts. */
static void opening_read(st_template *read, st_str text) {
    static const char head[] = "<|im_start|>assistant", flag[] = "add_generation_prompt";
    size_t asked = text.len;
    for (size_t at = find_from(text, 0, flag); at < text.len; at = find_from(text, at + 1, flag)) asked = at;
    size_t at = find_from(text, asked, head);
    if (at < text.len) {
        st_buf literal = {0};
        literal_read(text, at, &literal);
        size_t n = strlen(head);
        if (literal.len > n) st_buf_add(&read->opening, literal.data + n, literal.len - n);
        read->opening.failed |= literal.failed;
        st_buf_free(&literal);
    }
    if (read->opening.len == 0) st_buf_text(&read->opening, "\n");
}

/* Llama 3.1 and later tell dates in front of every system text. The day is the one that the template falls back to,
 * never today's: a prompt must not depend on when it is given. */
static void system_head_read(st_template *read, st_str text) {
    static const char knowledge[] = "Cutting Knowledge Date", today[] = "Today Date: ", day[] = "date_string = \"";
    size_t at = find_from(text, 0, knowledge);
    if (at == text.len) return;
    read->has_system_head = true;
    literal_read(text, at, &read->system_head);
    at = find_from(text, at, today);
    if (at == text.len) return;
    literal_read(text, at, &read->system_head);
    at = find_from(text, 0, day);
    if (at < text.len) literal_read(text, at + strlen(day), &read->system_head);
    st_buf_text(&read->system_head, "\n\n");
}

int st_template_read(st_template *read, enum st_chat_kind kind, st_str text, stretto_error *err) {
    *read = (st_template){0};
    read->names_bos = contains(text, "bos_token");
    read->trims = trims_content(text);
    read->hides_thinking = contains(text, "strip_thinking");
    read->skips_thinking =
        contains(text, "<|channel>thought\\n<channel|>") || contains(text, "<|channel>thought\n<channel|>");
    if (kind == ST_CHAT_CHATML) {
        default_system_read(read, text);
        opening_read(read, text);
    }
    if (kind == ST_CHAT_LLAMA3) system_head_read(read, text);
    bool failed = read->default_system.failed || read->opening.failed || read->system_head.failed;
    return failed ? st_fail_memory(err, "the chat template", text.len) : 0;
}

void st_template_free(st_template *read) {
    st_buf_free(&read->default_system);
    st_buf_free(&read->system_head);
    st_buf_free(&read->opening);
}
