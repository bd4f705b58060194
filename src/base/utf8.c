/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <string.h>

/* What a first byte demands: how many bytes follow, and the range of the first of them. */
typedef struct lead {
    unsigned more;
    unsigned char low, high;
} lead;

static lead lead_of(unsigned char c) {
    if (c < 0x80) return (lead){0, 0, 0};
    if (c < 0xc2 || c > 0xf4) return (lead){4, 0, 0}; /* starts nothing */
    if (c < 0xe0) return (lead){1, 0x80, 0xbf};
    if (c < 0xf0) return (lead){2, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf};
    return (lead){3, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf};
}

/* How many of the n bytes fit a character that starts with the first one; 0 when that one starts nothing. */
static size_t fitting(const char *text, size_t n, lead want) {
    const unsigned char *bytes = (const unsigned char *)text;
    if (want.more > 3) return 0;
    size_t len = 1;
    while (len <= want.more && len < n) {
        unsigned char low = len == 1 ? want.low : 0x80, high = len == 1 ? want.high : 0xbf;
        if (bytes[len] < low || bytes[len] > high) break;
        len++;
    }
    return len;
}

unsigned st_utf8_length(const char *bytes, size_t n) {
    lead want = lead_of((unsigned char)bytes[0]);
    return fitting(bytes, n, want) == want.more + 1 ? want.more + 1 : 0;
}

bool st_utf8_is_beginning(const char *bytes, size_t n) {
    lead want = lead_of((unsigned char)bytes[0]);
    return n <= want.more && fitting(bytes, n, want) == n;
}

unsigned st_utf8_control(const char *bytes, size_t n) {
    const unsigned char first = (unsigned char)bytes[0];
    if (first < 0x20 || first == 0x7f) return 1;
    return first == 0xc2 && st_utf8_length(bytes, n) == 2 && (unsigned char)bytes[1] < 0xa0 ? 2 : 0;
}

void st_utf8_tame(char *text) {
    for (size_t left = strlen(text); left > 0; text++, left--) {
        const unsigned n = st_utf8_control(text, left);
        memset(text, '?', n);
    }
}

size_t st_utf8_cut(const char *text, size_t len, size_t most) {
    if (len <= most) return len;
    for (size_t back = 1; back < 4 && back <= most; back++) {
        const size_t at = most - back;
        if (st_utf8_length(text + at, len - at) > back) return at;
    }
    return most;
}

void st_utf8_trim(char *text) {
    const size_t len = strlen(text);
    for (size_t back = 1; back < 4 && back <= len; back++)
        if (st_utf8_is_beginning(text + len - back, back)) text[len - back] = '\0';
}

void st_utf8_clean(st_buf *out, const char *text) {
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        unsigned length = st_utf8_length(text, left);
        st_buf_add(out, length ? text : "\xef\xbf\xbd", length ? length : 3);
        n = length ? length : 1;
    }
}
