/* SPDX-License-Identifier: MIT
 * The stretto command: finds the subcommand, gives it its options, and turns its outcome into an exit status. */
#include "option.h"
#include "outputs.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_WISH_NS 300000000 /* a person needs longer to press a key again; relayed signals arrive within this */

/* The one thing a signal handler can reach. */
static atomic_bool stop_asked;

/* Nanoseconds, on a clock that a signal handler may read. */
static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One wish to stop can arrive several times: from the terminal, which signals the whole group, and again from a parent
 * that passes it on. So only a signal some time after the first is a second wish, and ends the program at once. */
static void on_signal(int number) {
    static volatile sig_atomic_t asked;
    static uint64_t first_ns;
    const uint64_t now = now_ns();
    if (!asked) {
        first_ns = now;
        asked = 1;
        atomic_store_explicit(&stop_asked, true, memory_order_relaxed);
    } else if (now - first_ns > SECOND_WISH_NS) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

/* What is read is mapped, so a file that another program cuts off ends this one. All that may be said here is what was
 * known before. */
static void on_lost_file(int number) {
    static const char text[] = "stretto: a file became shorter, or could not be read, while it was used\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1); /* lost messages are nobody's failure */
    _exit(1);
}

/* The first Ctrl-C asks to stop, a second one ends the program at once; so does a terminal that goes away, unless nohup
 * has this ignored. A closed pipe and a file that may not grow are errors of write, not deaths. No SA_RESTART, so that
 * a read of standard input ends too. No handler interrupts another. A parent that ignores the ends of its children has
 * its wish handed down, but how a process of ours ends matters. */
static void set_signals(void) {
    static const int asking[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction ask = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN}, before;
    struct sigaction lost = {.sa_handler = on_lost_file}, usual = {.sa_handler = SIG_DFL};
    sigemptyset(&ask.sa_mask);
    sigemptyset(&ignore.sa_mask);
    sigemptyset(&lost.sa_mask);
    sigemptyset(&usual.sa_mask);
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) sigaddset(&ask.sa_mask, asking[i]);
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        bool ignored = asking[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!ignored) sigaction(asking[i], &ask, NULL);
    }
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    sigaction(SIGBUS, &lost, NULL);
    sigaction(SIGCHLD, &usual, NULL);
}

/* A standard stream that was closed would be given to the first file that is opened. Holding its number the wrong way
 * round keeps it free of that and lets a use of it fail as it should; lost messages are nobody's failure. */
static void hold_standard_streams(void) {
    static const int modes[3] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", modes[fd]) != fd) exit(1);
    }
}

static int exit_status(int code) {
    switch (code) {
    case STRETTO_OK:
        return 0;
    case STRETTO_E_USAGE:
        return 2;
    case STRETTO_E_INPUT:
        return 3;
    case STRETTO_E_STOPPED:
        return 130;
    default:
        return 1;
    }
}

static int print_text(cli *cx, st_buf *text, stretto_error *err) {
    int rc = text->failed ? st_fail_memory(err, "the help text", text->len) : STRETTO_OK;
    if (!rc) cli_write(cx, text->data, text->len);
    st_buf_free(text);
    return rc;
}

static int run_command(cli *cx, const cli_command *command, int argc, char **argv, stretto_error *err) {
    void *options = calloc(1, command->options_size);
    if (!options) return st_fail_memory(err, "the options", command->options_size);
    bool help;
    int rc = cli_parse(command, argc, argv, options, &help, err);
    if (!rc && help) {
        st_buf text = {0};
        cli_help_command(&text, command);
        rc = print_text(cx, &text, err);
    } else if (!rc) {
        rc = cli_spare_inputs(command, options, err);
        if (!rc) rc = command->run(cx, options, err);
    }
    free(options);
    return rc;
}

static bool is_one_of(const char *word, const char *a, const char *b) {
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int dispatch(cli *cx, stretto_error *err) {
    const char *word = cx->argc > 1 ? cx->argv[1] : NULL;
    if (!word) {
        st_buf text = {0};
        cli_help_all(&text);
        if (text.data) fwrite(text.data, 1, text.len, stderr);
        st_buf_free(&text);
        return st_fail(err, STRETTO_E_USAGE, "no command given");
    }
    if (is_one_of(word, "--help", "-h")) {
        const cli_command *about = cx->argc > 2 ? cli_command_find(cx->argv[2]) : NULL;
        st_buf text = {0};
        if (cx->argc > 2 && !about) return cli_command_unknown(cx->argv[2], err);
        if (about)
            cli_help_command(&text, about);
        else
            cli_help_all(&text);
        return print_text(cx, &text, err);
    }
    if (is_one_of(word, "--version", "-V")) {
        cli_printf(cx, "stretto %s\n", STRETTO_VERSION);
        return STRETTO_OK;
    }
    const cli_command *command = cli_command_find(word);
    if (!command && word[0] == '-') {
        return st_fail(err, STRETTO_E_USAGE, "the command comes first, then its options (found %.*s); stretto help",
                       ST_CUT(word, 60));
    }
    if (!command) return cli_command_unknown(word, err);
    return run_command(cx, command, cx->argc - 1, cx->argv + 1, err);
}

int main(int argc, char **argv) {
    hold_standard_streams();
    set_signals();
    cli cx = {.argc = argc, .argv = argv, .started = time(NULL), .stop = &stop_asked};
    cli_init_output(&cx);
    stretto_error err = {0};
    int code = dispatch(&cx, &err);
    cli_progress_end(&cx);
    stretto_error write_error = {0};
    int written = cli_flush(&cx, &write_error);
    if (code == STRETTO_E_STOPPED && !err.text[0]) st_fail(&err, code, "interrupted");
    if (code) cli_note(&cx, "%s", err.text);
    if (written && strcmp(err.text, write_error.text) != 0) cli_note(&cx, "%s", write_error.text);
    st_buf_free(&cx.out);
    return exit_status(code ? code : written);
}
