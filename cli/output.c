/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define POLL_MS 200
#define PATIENCE_NS 10000000000u  /* with a reader that does not read, once we are to stop */
#define PIECE 4096                /* what a pipe that has room takes without blocking (PIPE_BUF) */
#define GATHER ((size_t)64 << 10) /* results are written in one go up to here */

#define PROGRESS_NS 80000000u /* as often as an eye can read it, and no step of a measurement waits for a terminal */

static void log_to_stderr(void *arg, enum st_log_level level, const char *text) {
    cli *cx = arg;
    if (level != ST_LOG_WARN) return;
    cli_note(cx, "warning: %s", text);
}

void cli_init_output(cli *cx) {
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    bool dumb = !term || !*term || strcmp(term, "dumb") == 0;
    cx->out_terminal = isatty(STDOUT_FILENO);
    cx->color = cx->out_terminal && !dumb && !(no_color && *no_color);
    cx->progress = isatty(STDERR_FILENO) && !dumb;
    cx->log = (st_log){.fn = log_to_stderr, .arg = cx};
}

static void remember(cli *cx) {
    if (!cx->out_errno) cx->out_errno = errno ? errno : EIO;
}

/* True when output takes a piece; false when it is time to give up. A signal does not break a result in two. */
static bool wait_for_room(const cli *cx) {
    uint64_t since = 0;
    for (;;) {
        struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
        int n = poll(&out, 1, POLL_MS);
        if (n > 0 || (n < 0 && errno != EINTR)) return true; /* an error of the file is told by write */
        if (!cli_stopped(cx)) continue;
        if (since == 0) since = st_now_ns();
        if (st_now_ns() - since > PATIENCE_NS) return false;
    }
}

/* Writes what has been gathered. */
static void push(cli *cx) {
    const char *at = cx->out.data;
    for (size_t n = cx->out.len; n > 0 && !cx->out_errno && !cx->out_unread;) {
        if (!wait_for_room(cx)) {
            cx->out_unread = true;
            break;
        }
        errno = 0;
        ssize_t done = write(STDOUT_FILENO, at, n < PIECE ? n : PIECE);
        if (done < 0 && errno != EINTR && errno != EAGAIN) remember(cx);
        if (done > 0) at += done, n -= (size_t)done;
    }
    cx->out.len = 0;
}

/* After something was added from `start` on: a terminal shows whole lines at once. */
static void gathered(cli *cx, size_t start) {
    if (cx->out.failed) {
        errno = ENOMEM;
        remember(cx);
    } else if (cx->out.len >= GATHER || (cx->out_terminal && memchr(cx->out.data + start, '\n', cx->out.len - start))) {
        push(cx);
    }
}

void cli_write(cli *cx, const void *bytes, size_t n) {
    const size_t start = cx->out.len;
    if (cx->out_errno || cx->out_unread || n == 0) return;
    st_buf_add(&cx->out, bytes, n);
    gathered(cx, start);
}

void cli_printf(cli *cx, const char *fmt, ...) {
    const size_t start = cx->out.len;
    if (cx->out_errno || cx->out_unread) return;
    va_list args;
    va_start(args, fmt);
    st_buf_vprintf(&cx->out, fmt, args);
    va_end(args);
    gathered(cx, start);
}

void cli_quoted(cli *cx, const char *bytes, size_t n) {
    cli_write(cx, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n') {
            cli_write(cx, "\\n", 2);
        } else if (c == '\r') {
            cli_write(cx, "\\r", 2);
        } else if (c == '"' || c == '\\') {
            cli_printf(cx, "\\%c", c);
        } else if (st_utf8_control(bytes + i, n - i) == 2) {
            cli_printf(cx, "\\x%02x\\x%02x", c, (unsigned char)bytes[++i]);
        } else if (c < 0x20 || c == 0x7f || st_utf8_length(bytes + i, n - i) == 0) {
            cli_printf(cx, "\\x%02x", c);
        } else {
            size_t length = st_utf8_length(bytes + i, n - i);
            cli_write(cx, bytes + i, length);
            i += length - 1;
        }
    }
    cli_write(cx, "\"", 1);
}

void cli_name(cli *cx, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const unsigned control = st_utf8_control(bytes + i, n - i);
        cli_write(cx, control ? "?" : bytes + i, 1);
        i += control > 1;
    }
}

int cli_flush(cli *cx, stretto_error *err) {
    push(cx);
    if (cx->out_unread)
        return st_fail(err, STRETTO_E_STOPPED, "interrupted, and nobody reads standard output: results are lost");
    if (!cx->out_errno) return STRETTO_OK;
    if (cx->out_errno == EBADF)
        return st_fail(err, STRETTO_E_IO, "standard output is closed: nowhere to write results");
    return st_fail(err, STRETTO_E_IO, "cannot write results to standard output: %s", strerror(cx->out_errno));
}

void cli_note(cli *cx, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    st_utf8_trim(text);
    va_end(args);
    st_utf8_tame(text); /* a name out of a strange file must not steer the terminal */
    flockfile(stderr);  /* one line at a time, from whichever thread warns */
    if (cx->progress_shown) fputs("\r\033[K", stderr);
    cx->progress_shown = false;
    fprintf(stderr, "stretto: %s\n", text);
    funlockfile(stderr);
}

/* Columns that a line may have and stay one, so that it can be wiped: fewer on a narrow terminal. */
static size_t progress_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2 || size.ws_col > 80) return 79;
    return size.ws_col - 1u;
}

void cli_progress(cli *cx, const char *fmt, ...) {
    if (!cx->progress) return;
    char line[160];
    uint64_t now = st_now_ns();
    size_t most = progress_columns();
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    st_utf8_trim(line);
    va_end(args);
    flockfile(stderr);
    if (!cx->progress_shown || now - cx->progress_ns >= PROGRESS_NS) {
        fprintf(stderr, "\r\033[K%.*s", ST_CUT(line, most));
        fflush(stderr);
        cx->progress_shown = true;
        cx->progress_ns = now;
    }
    funlockfile(stderr);
}

void cli_progress_end(cli *cx) {
    flockfile(stderr);
    if (cx->progress_shown) fputs("\r\033[K", stderr);
    cx->progress_shown = false;
    fflush(stderr);
    funlockfile(stderr);
}
