/* SPDX-License-Identifier: MIT */
#include "input.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)1 << 30)

const char *cli_shown_path(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static int read_all(const cli *cx, int fd, const char *path, size_t most, st_buf *out, stretto_error *err) {
    char part[1 << 14];
    for (;;) {
        ssize_t n = read(fd, part, sizeof part);
        if (n == 0) return out->failed ? st_fail_memory(err, "the text", out->len) : STRETTO_OK;
        if (n < 0 && errno == EINTR) {
            if (cli_stopped(cx))
                return st_fail(err, STRETTO_E_STOPPED, "interrupted while reading %.*s",
                               ST_CUT(cli_shown_path(path), 300));
            continue;
        }
        if (n < 0)
            return st_fail(err, STRETTO_E_IO, "cannot read %.*s: %s", ST_CUT(cli_shown_path(path), 300),
                           strerror(errno));
        if (out->len + (size_t)n > most)
            return st_fail(err, STRETTO_E_INPUT, "%.*s is larger than %zu MiB, which such a file never is",
                           ST_CUT(cli_shown_path(path), 300), most >> 20);
        st_buf_add(out, part, (size_t)n);
    }
}

/* Opening a pipe with a name waits for somebody who writes to it. */
static int open_file(const cli *cx, const char *path) {
    int fd;
    do fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR && !cli_stopped(cx));
    return fd;
}

int cli_read_file(const cli *cx, const char *path, st_buf *out, stretto_error *err) {
    return cli_read_at_most(cx, path, TEXT_MAX, out, err);
}

int cli_read_at_most(const cli *cx, const char *path, size_t most, st_buf *out, stretto_error *err) {
    bool standard = strcmp(path, "-") == 0;
    if (!*path) return st_fail(err, STRETTO_E_USAGE, "a file to read has an empty name");
    int fd = standard ? STDIN_FILENO : open_file(cx, path);
    if (fd < 0 && errno == EINTR)
        return st_fail(err, STRETTO_E_STOPPED, "interrupted while opening %.*s", ST_CUT(path, 300));
    if (fd < 0) return st_fail(err, STRETTO_E_IO, "cannot open %.*s: %s", ST_CUT(path, 300), strerror(errno));
    int rc = read_all(cx, fd, path, most, out, err);
    if (!standard) close(fd);
    return rc;
}

int cli_read_text(const cli *cx, const char *text, const char *path, st_buf *out, stretto_error *err) {
    if (text && path) return st_fail(err, STRETTO_E_USAGE, "give the text with -p or with -f, not both");
    if (text) {
        st_buf_text(out, text);
        return out->failed ? st_fail_memory(err, "the text", strlen(text)) : STRETTO_OK;
    }
    if (!path && isatty(STDIN_FILENO)) {
        return st_fail(err, STRETTO_E_USAGE, "no text given: -p TEXT, -f FILE, or pipe it in");
    }
    return cli_read_file(cx, path ? path : "-", out, err);
}

static bool separates(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == '[' || c == ']';
}

static int bad_id(const char *path, unsigned line, const char *word, size_t n, const char *why, stretto_error *err) {
    int shown_bytes = (int)st_utf8_cut(word, n, 40);
    return st_fail(err, STRETTO_E_INPUT, "%.*s line %u: \"%.*s\" %s", ST_CUT(cli_shown_path(path), 200), line,
                   shown_bytes, word, why);
}

static int parse_ids(const char *path, const st_buf *text, uint32_t n_vocab, st_ids *ids, stretto_error *err) {
    unsigned line = 1;
    for (size_t at = 0; at < text->len;) {
        if (separates(text->data[at])) {
            line += text->data[at++] == '\n';
            continue;
        }
        size_t start = at;
        uint64_t value = 0;
        bool number = true;
        for (; at < text->len && !separates(text->data[at]); at++) {
            number = number && text->data[at] >= '0' && text->data[at] <= '9';
            if (number && value <= UINT32_MAX) value = value * 10 + (uint64_t)(text->data[at] - '0');
        }
        if (!number) return bad_id(path, line, text->data + start, at - start, "is not a token id", err);
        if (value >= n_vocab) {
            char why[80];
            snprintf(why, sizeof why, "is not in the vocabulary: its ids are 0 to %u", n_vocab - 1);
            return bad_id(path, line, text->data + start, at - start, why, err);
        }
        int rc = st_ids_add(ids, (int32_t)value, err);
        if (rc) return rc;
    }
    if (ids->len == 0)
        return st_fail(err, STRETTO_E_INPUT, "%.*s has no token ids in it", ST_CUT(cli_shown_path(path), 300));
    return STRETTO_OK;
}

int cli_read_ids(const cli *cx, const char *path, uint32_t n_vocab, st_ids *ids, stretto_error *err) {
    st_buf text = {0};
    int rc = cli_read_file(cx, path, &text, err);
    if (!rc) rc = parse_ids(path, &text, n_vocab, ids, err);
    st_buf_free(&text);
    return rc;
}
