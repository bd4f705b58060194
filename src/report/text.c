/* SPDX-License-Identifier: MIT */
#include "report/text.h"

#include "base/usage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *st_figure_of(st_figure out, double value) {
    double size = fabs(value);
    int decimals = 2;
    if (size >= 99.95)
        decimals = 0;
    else if (size >= 9.995)
        decimals = 1;
    else if (size < 0.9995 && size > 0)
        decimals = (int)ceil(-log10(size * (1 + 5e-4))) + 2;
    if (decimals > 9) decimals = 9;
    /* 1234 has three figures as 1230 */
    double step = size >= 999.5 ? pow(10, floor(log10(size)) - 2) : 1;
    snprintf(out, sizeof(st_figure), "%.*f", decimals, step > 1 ? round(value / step) * step : value);
    return out;
}

const char *st_figure_ms(st_figure out, double ns) {
    return st_figure_of(out, ns / 1e6);
}

double st_hundredths(double value) {
    return fabs(value) < 0.005 ? 0 : value;
}

const char *st_figure_ratio(st_figure out, double value) {
    double size = fabs(value);
    snprintf(out, sizeof(st_figure), "%.*f", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, st_hundredths(value));
    return out;
}

size_t st_text_columns(const char *text, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

void st_text_wrap(st_buf *out, const char *text, size_t at, size_t indent, size_t width) {
    bool line_empty = true;
    while (*text) {
        text += strspn(text, " ");
        size_t n = strcspn(text, " "), wide = st_text_columns(text, n);
        if (n == 0) break;
        if (!line_empty && at + 1 + wide > width) {
            st_buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
            line_empty = true;
        }
        if (!line_empty) st_buf_text(out, " ");
        at += wide + !line_empty;
        line_empty = false;
        st_buf_add(out, text, n);
        text += n;
    }
}

void st_text_host(st_buf *out, const st_host *host, double others) {
    st_buf_printf(out, "%u core%s, %s", host->n_cores, host->n_cores == 1 ? "" : "s", host->isa);
    if (host->quota_cpus > 0) st_buf_printf(out, ", quota %g CPUs", host->quota_cpus);
    if (others > ST_USAGE_BUSY)
        st_buf_printf(out, "; busy (other programs use %.2f CPUs)", others);
    else if (others >= 0)
        st_buf_text(out, "; quiet");
}

void st_text_command(st_buf *out, int argc, char *const *argv) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+=@%";
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (i) st_buf_text(out, " ");
        if (*word && word[strspn(word, plain)] == '\0') {
            st_buf_text(out, word);
            continue;
        }
        st_buf_text(out, "'");
        for (; *word; word++) st_buf_text(out, *word == '\'' ? "'\\''" : (char[2]){*word, '\0'});
        st_buf_text(out, "'");
    }
}

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80);
}

/* Within a word an underscore is none of Markdown's (CommonMark 6.2). */
static bool is_markup(const char *text, size_t i) {
    if (text[i] == '_') return i == 0 || !is_word(text[i - 1]) || !is_word(text[i + 1]);
    return text[i] && strchr("\\`*<[&", text[i]);
}

static void escaped(st_buf *out, const char *text, bool bar) {
    for (size_t i = 0; text[i]; i++) {
        if (is_markup(text, i) || (bar && text[i] == '|')) st_buf_text(out, "\\");
        st_buf_add(out, &text[i], 1);
    }
}

void st_text_markdown(st_buf *out, const char *text) {
    escaped(out, text, false);
}

void st_text_cell(st_buf *out, const char *text) {
    escaped(out, text, true);
}

/* Between more backticks than stand together anywhere in the text (CommonMark 6.1). */
void st_text_code(st_buf *out, const char *text) {
    size_t longest = 0, size = strlen(text);
    for (size_t i = 0, n = 0; i < size; i++) {
        n = text[i] == '`' ? n + 1 : 0;
        if (n > longest) longest = n;
    }
    const char *space = size && (text[0] == '`' || text[size - 1] == '`') ? " " : "";
    for (size_t i = 0; i <= longest; i++) st_buf_text(out, "`");
    st_buf_printf(out, "%s%s%s", space, text, space);
    for (size_t i = 0; i <= longest; i++) st_buf_text(out, "`");
}
