/* SPDX-License-Identifier: MIT */
#include "report/html.h"

#include "base/utf8.h"
#include "report/json.h"
#include "report/text.h"

#include <string.h>

static const char *reference(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default: /* the parser of HTML would drop or replace these itself, each in its own way */
        return ((unsigned char)c < 0x20 && c != '\t' && c != '\n') || c == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

void st_html_text(st_buf *out, const char *text) {
    st_buf clean = {0};
    st_utf8_clean(&clean, text);
    for (size_t i = 0; i < clean.len; i++) {
        const char *other = reference(clean.data[i]);
        st_buf_add(out, other ? other : &clean.data[i], other ? strlen(other) : 1);
    }
    out->failed |= clean.failed;
    st_buf_free(&clean);
}

void st_html_name(st_buf *out, const char *name) {
    st_buf_text(out, "<bdi>");
    st_html_text(out, name);
    st_buf_text(out, "</bdi>");
}

/* "<" is what could end a script element or begin a comment in it, and in JSON it only stands in strings. */
void st_html_json(st_buf *out, json_t *value) {
    st_buf json = {0};
    st_json_write(&json, value, true);
    for (size_t i = 0; i < json.len; i++) {
        if (json.data[i] == '<')
            st_buf_text(out, "\\u003c");
        else
            st_buf_add(out, &json.data[i], 1);
    }
    out->failed |= json.failed;
    st_buf_free(&json);
}
