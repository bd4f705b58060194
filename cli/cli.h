/* SPDX-License-Identifier: MIT
 * What every subcommand gets from the frame around it: where results, warnings and progress go, and the wish to stop.
 * Results go to standard output, everything else to standard error. Only main.c touches the process (signals, exit). */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/buf.h"
#include "base/log.h"
#include "stretto/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct cli {
    int argc; /* as the program was started, for the record in JSON */
    char **argv;
    time_t started;
    st_log log;              /* warnings to standard error */
    const atomic_bool *stop; /* becomes true on Ctrl-C */
    bool out_terminal;       /* standard output is a terminal */
    bool color;              /* and wants colour */
    bool progress;           /* standard error is a terminal that can rewrite a line */
    bool progress_shown;
    uint64_t progress_ns; /* when it was last rewritten */
    st_buf out;           /* results that are not written yet */
    int out_errno;        /* first failure to write standard output */
    bool out_unread;      /* its reader did not read when we were to stop */
} cli;

/* ---- results (output.c) ---- gathered, and written by cli_flush, when they are many, and on a terminal by the line. A
 * failed write is remembered, and reported by cli_flush. While the reader of a pipe does not read a write waits; after
 * Ctrl-C for ten seconds at most. A signal does not end a write. From one thread at a time. */
void cli_write(cli *cx, const void *bytes, size_t n);
void cli_printf(cli *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_quoted(cli *cx, const char *bytes, size_t n); /* in quotes; what is no text as escapes */
void cli_name(cli *cx, const char *bytes, size_t n);   /* a name out of a file: control characters as ? */
/* Pushes what was written to its destination. STRETTO_E_IO when that, or an earlier write, failed, STRETTO_E_STOPPED
 * when its reader did not read. */
int cli_flush(cli *cx, stretto_error *err);

/* ---- standard error (output.c) ---- */
void cli_note(cli *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* one line */
/* Shows one line that the next one replaces; nothing unless on a terminal. What follows too soon is left out. */
void cli_progress(cli *cx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_progress_end(cli *cx);
void cli_init_output(cli *cx); /* looks at the terminal and at NO_COLOR */

static inline bool cli_stopped(const cli *cx) {
    return atomic_load_explicit(cx->stop, memory_order_relaxed);
}

#endif
