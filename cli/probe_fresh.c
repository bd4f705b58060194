/* SPDX-License-Identifier: MIT
 * --fresh: the whole probe in new processes, one after the other, each with its own loaded model. What one process
 * cannot see (where its pages lie, what clock it meets) is in the spread between them. A part is this program with the
 * same words and --fresh-part behind them, which hands its record over through a pipe. */
#include "probe_fresh.h"

#include "base/error.h"
#include "probe/combine.h"
#include "probe/conditions.h"
#include "probe/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define LOOK_MS 200       /* how often a part is looked at */
#define STOPPED_LOOKS 150 /* at which it is stopped, until it is given up: half a minute */

/* ---- a part ---- */

void probe_part_begin(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would take the record */
}

int probe_part_end(const st_probe_record *record, stretto_error *err) {
    return st_record_send(PROBE_PART_FD, record, err);
}

/* ---- all of them ---- */

/* The words of part i: this process's own, and, where its options end, those that override them. Freed by the caller;
 * some are in `numbers`. */
static char **part_words(const cli *cx, unsigned i, double budget, uint64_t seed, char numbers[3][40]) {
    char **words = calloc((size_t)cx->argc + 8, sizeof *words);
    if (!words) return NULL;
    int n = 0, k = 0;
    for (; k < cx->argc && strcmp(cx->argv[k], "--") != 0; k++) words[n++] = cx->argv[k];
    snprintf(numbers[0], sizeof numbers[0], "--fresh-part=%u", i + 1);
    snprintf(numbers[1], sizeof numbers[1], "--budget=%.6g", budget);
    snprintf(numbers[2], sizeof numbers[2], "--seed=%llu", (unsigned long long)seed + i);
    for (unsigned number = 0; number < 3; number++) words[n++] = numbers[number];
    if (i > 0) words[n++] = "--quick"; /* what the units give at most is known from the first */
    for (; k < cx->argc; k++) words[n++] = cx->argv[k];
    return words;
}

static int spawn(pid_t *pid, char *const *words, int write_end, stretto_error *err) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, write_end, PROBE_PART_FD);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(pid, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? st_fail(err, STRETTO_E_UNIT, "no new process could be started: %s", strerror(failed)) : STRETTO_OK;
}

/* What the end of a part means: its record may be there all the same. */
static int part_wait(const cli *cx, pid_t pid, unsigned i, stretto_error *err) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return st_fail(err, STRETTO_E_UNIT, "nobody knows how process %u ended: %s", i + 1, strerror(errno));
    if (WIFSIGNALED(status) && cli_stopped(cx)) return st_fail(err, STRETTO_E_STOPPED, "stopped on request");
    if (WIFSIGNALED(status))
        return st_fail(err, STRETTO_E_UNIT, "process %u was ended by signal %d (%s)", i + 1, WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == 0) return STRETTO_OK;
    if (WEXITSTATUS(status) == 130) return st_fail(err, STRETTO_E_STOPPED, "stopped on request");
    return st_fail(err,
                   WEXITSTATUS(status) == 2   ? STRETTO_E_USAGE
                   : WEXITSTATUS(status) == 3 ? STRETTO_E_INPUT
                                              : STRETTO_E_UNIT,
                   "process %u failed", i + 1);
}

static bool is_stopped(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Until the record comes, or the part has ended. A wish to stop that only this process heard of is passed on. A part
 * that is stopped hears nothing: it is ended then, and also when nobody lets it go on. */
static void part_await(cli *cx, int read_end, pid_t pid) {
    struct pollfd ready = {.fd = read_end, .events = POLLIN};
    unsigned stopped = 0;
    for (bool told = false; poll(&ready, 1, LOOK_MS) <= 0;) {
        stopped = is_stopped(pid) ? stopped + 1 : 0;
        if (stopped > STOPPED_LOOKS || (stopped > 1 && told)) {
            cli_note(cx, "warning: process %d was stopped, and is ended", (int)pid);
            kill(pid, SIGKILL);
            return;
        }
        if (told || !cli_stopped(cx)) continue;
        kill(pid, SIGINT);
        told = true;
    }
}

static int run_part(cli *cx, unsigned i, double budget, uint64_t seed, st_probe_record *part, stretto_error *err) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return st_fail(err, STRETTO_E_IO, "no pipe: %s", strerror(errno));
    char numbers[3][40];
    char **words = part_words(cx, i, budget, seed, numbers);
    pid_t pid;
    int rc = words ? spawn(&pid, words, ends[1], err) : st_fail_memory(err, "a command line", 0);
    free(words);
    close(ends[1]);
    if (!rc) {
        stretto_error how;
        part_await(cx, ends[0], pid);
        int received = st_record_receive(ends[0], part, err);
        rc = part_wait(cx, pid, i, &how);
        if (rc) /* it has said itself why */
            st_fail(err, rc, "%s", how.text);
        else
            rc = received;
    }
    close(ends[0]);
    return rc;
}

int probe_fresh(cli *cx, unsigned n, double budget_s, uint64_t seed, st_probe_record *record, stretto_error *err) {
    st_conditions before;
    st_conditions_read(&before, NULL, "");
    int rc = STRETTO_OK;
    bool any = false;
    for (unsigned i = 0; i < n && !rc; i++) {
        if (cli_stopped(cx)) return st_fail(err, STRETTO_E_STOPPED, "stopped on request");
        st_probe_record part = {0};
        rc = run_part(cx, i, budget_s / n, seed, &part, err);
        if (part.n_rows > 0 && !any) {
            *record = part;
            part = (st_probe_record){0};
            any = true;
        } else if (part.n_rows > 0) {
            stretto_error problem;
            int added = st_record_add(record, &part, &problem);
            if (added && !rc) rc = st_fail(err, added, "%s", problem.text);
        }
        st_probe_record_free(&part);
    }
    if (!any) return rc;
    record->before.usage = before.usage; /* of all processes, which were this one's children */
    st_conditions after;
    st_conditions_read(&after, NULL, "");
    record->after.usage = after.usage;
    stretto_error problem;
    int judged = st_record_judge(record, &problem);
    return rc || !judged ? rc : st_fail(err, judged, "%s", problem.text);
}
