/* SPDX-License-Identifier: MIT
 * This process's side: submissions go into the mailbox, and a listener thread completes their events. It wakes ten
 * times a second to see whether the other process still lives. */
#include "device/process.h"

#include "base/error.h"
#include "base/futex.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "device/lane.h"
#include "device/process_box.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_NS 10000000000u    /* until the other process must be ready */
#define END_NS 2000000000u       /* until it must have ended */
#define LOOK_NS 100000000        /* how often the listener looks whether it lives */
#define SILENT_NS 30000000000u   /* without an answer and without computing, until it is given up */
#define LOOK_QUIETLY_NS 10000000 /* how often it is looked at while it is to go to sleep */

typedef struct process_queue {
    st_queue queue; /* first member */
    struct process_queue *next;
} process_queue;

typedef struct process_unit {
    st_unit unit; /* first member */
    st_unit_info info;
    st_lane_cpus cpus;
    process_box *box;
    pid_t pid;
    clockid_t cpu_clock;
    uint64_t silent_ns;
    const st_step **steps; /* [n_steps] owned */
    unsigned n_steps;
    pthread_t listener;
    bool listening; /* started with the first queue */
    atomic_bool closing;
    pthread_mutex_t lock; /* over what follows, and over posting */
    process_queue *queues;
    atomic_bool gone; /* the other process has ended and is off the kernel's list; `why` is set */
    char why[128];
    st_event *events[PROCESS_PENDING];
    atomic_uint done; /* messages whose events are completed; moved by the listener */
} process_unit;

static void nap(void) {
    const struct timespec time = {.tv_nsec = 50000};
    nanosleep(&time, NULL);
}

static void how_it_ended(process_unit *p, int status) {
    if (WIFSIGNALED(status))
        snprintf(p->why, sizeof p->why, "its process %d was ended by signal %d (%s)", (int)p->pid, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(p->why, sizeof p->why, "its process %d ended with code %d", (int)p->pid, WEXITSTATUS(status));
}

static uint64_t process_cpu_ns(st_unit *unit) {
    struct timespec time;
    if (clock_gettime(((process_unit *)unit)->cpu_clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Takes the other process off the kernel's list if it has ended, and notes how. Where the program has its children's
 * ends ignored (SIGCHLD), or waits for all of them itself, somebody else was told. With the lock. */
static bool reap(process_unit *p) {
    int status;
    const pid_t ended = waitpid(p->pid, &status, WNOHANG);
    if (ended == p->pid)
        how_it_ended(p, status);
    else if (ended < 0 && errno == ECHILD)
        snprintf(p->why, sizeof p->why, "its process %d has ended, and nothing says how", (int)p->pid);
    else
        return false;
    atomic_store(&p->gone, true);
    return true;
}

/* Whether the other process has ended. */
static bool gone(void *unit) {
    process_unit *p = unit;
    if (atomic_load(&p->gone)) return true;
    pthread_mutex_lock(&p->lock);
    const bool ended = atomic_load(&p->gone) || reap(p);
    pthread_mutex_unlock(&p->lock);
    return ended;
}

/* Not after it was reaped: its number may be another one's then. With the lock. */
static void end_by_force(process_unit *p) {
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) continue;
    atomic_store(&p->gone, true);
}

static bool is_stopped(const process_unit *p) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)p->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == p->pid;
}

/* How long the other process has done nothing, as far as somebody who waits for it has seen. */
typedef struct watch {
    process_unit *unit;
    uint64_t looked_ns; /* last; 0: not yet */
    uint64_t cpu_ns;    /* that it had computed by then */
    uint64_t silent_ns;
} watch;

static void give_up(process_unit *p, uint64_t silent_ns) {
    pthread_mutex_lock(&p->lock);
    if (!atomic_load(&p->gone) && !reap(p)) {
        snprintf(p->why, sizeof p->why, "its process %d %s (no answer and no computing for %.1f s), and was ended",
                 (int)p->pid, is_stopped(p) ? "was stopped" : "hung", (double)silent_ns / 1e9);
        end_by_force(p);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Whether the other process has ended, or is given up now. What is between two looks counts for LOOK_NS at most, since
 * this process may have been stopped as well. */
static bool lost(void *arg) {
    watch *w = arg;
    process_unit *p = w->unit;
    if (gone(p)) return true;
    const uint64_t now = st_now_ns();
    if (w->looked_ns != 0 && now - w->looked_ns < LOOK_QUIETLY_NS) return false;
    const uint64_t cpu = process_cpu_ns(&p->unit), passed = now - w->looked_ns;
    const bool idle = w->looked_ns != 0 && cpu == w->cpu_ns;
    w->silent_ns = idle ? w->silent_ns + (passed < LOOK_NS ? passed : LOOK_NS) : 0;
    w->looked_ns = now;
    w->cpu_ns = cpu;
    if (w->silent_ns < p->silent_ns) return false;
    give_up(p, w->silent_ns);
    return true;
}

/* ---- completion ---- */

/* The place in the ring is free again before the event is done, so that who waited for it can submit. */
static void complete_next(process_unit *p, bool failed) {
    unsigned at = atomic_load(&p->done);
    process_message *message = &p->box->messages[at % PROCESS_PENDING];
    st_event *event = p->events[at % PROCESS_PENDING];
    const char *name = message->step->name;
    stretto_error error = message->error;
    int code = failed ? st_fail(&error, STRETTO_E_UNIT, "unit %s is gone: %s", p->info.name, p->why) : message->code;
    event->start_ns = failed ? st_now_ns() : message->start_ns;
    event->end_ns = failed ? event->start_ns : message->end_ns;
    atomic_store(&p->done, at + 1);
    st_event_complete(event, code, &error, name);
}

/* What has ended was posted: reading that number, too, makes what its poster wrote visible here without a detour
 * through the other process. */
static void complete_all(process_unit *p, bool failed) {
    unsigned ended = atomic_load(&p->box->ended), posted = atomic_load(&p->box->posted);
    unsigned until = failed ? posted : ended;
    while ((int)(until - atomic_load(&p->done)) > 0) complete_next(p, failed); /* those that failed never ended */
}

static void *listen(void *arg) {
    process_unit *p = arg;
    process_box *box = p->box;
    const struct timespec look = {.tv_nsec = LOOK_NS};
    watch w = {.unit = p};
    for (;;) {
        unsigned seen = atomic_load(&box->ended);
        complete_all(p, false);
        if (atomic_load(&p->closing) && atomic_load(&p->done) == atomic_load(&box->posted)) return NULL;
        atomic_store(&box->watched, 1);
        if (atomic_load(&box->ended) == seen) st_futex_wait_shared(&box->ended, seen, &look);
        atomic_store(&box->watched, 0);
        bool waits = atomic_load(&p->done) != atomic_load(&box->posted);
        if (atomic_load(&box->ended) != seen || !waits) w.looked_ns = 0;
        if (atomic_load(&box->ended) != seen || !(waits ? lost(&w) : gone(p))) continue;
        complete_all(p, false);
        complete_all(p, true); /* nothing more is posted to a unit that is gone */
    }
}

/* ---- operations ---- */

static void process_info(const st_unit *unit, st_unit_info *info) {
    *info = ((const process_unit *)unit)->info;
}

static int process_queue_open(st_unit *unit, st_queue **out, stretto_error *err) {
    process_unit *p = (process_unit *)unit;
    process_queue *queue = st_alloc(1, sizeof *queue);
    if (!queue) return st_fail_memory(err, "a queue", sizeof *queue);
    queue->queue.unit = unit;
    pthread_mutex_lock(&p->lock);
    int code = p->listening ? STRETTO_OK : st_thread_start(&p->listener, listen, p, "st-process", err);
    p->listening = code == STRETTO_OK;
    if (code == STRETTO_OK) {
        queue->next = p->queues;
        p->queues = queue;
        *out = &queue->queue;
    }
    pthread_mutex_unlock(&p->lock);
    if (code != STRETTO_OK) st_free(queue);
    return code;
}

static void process_queue_close(st_queue *base) {
    process_unit *p = (process_unit *)base->unit;
    unsigned until = atomic_load(&p->box->posted);
    while ((int)(atomic_load(&p->done) - until) < 0) nap();
    pthread_mutex_lock(&p->lock);
    process_queue **at = &p->queues;
    while (&(*at)->queue != base) at = &(*at)->next;
    *at = (*at)->next;
    pthread_mutex_unlock(&p->lock);
    st_free(base);
}

static bool known(const process_unit *p, const st_step *step) {
    for (unsigned i = 0; i < p->n_steps; i++)
        if (p->steps[i] == step) return true;
    return false;
}

static int post(process_unit *p, const st_step *step, st_event *done, stretto_error *err) {
    process_box *box = p->box;
    unsigned at = atomic_load(&box->posted);
    if (atomic_load(&p->gone)) return st_fail(err, STRETTO_E_UNIT, "unit %s is gone: %s", p->info.name, p->why);
    if (at - atomic_load(&p->done) == PROCESS_PENDING)
        return st_fail(err, STRETTO_E_UNIT, "unit %s is full: it holds %u submissions", p->info.name, PROCESS_PENDING);
    box->messages[at % PROCESS_PENDING].step = step;
    p->events[at % PROCESS_PENDING] = done;
    atomic_store(&box->posted, at + 1);
    return STRETTO_OK;
}

static int process_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                          stretto_error *err) {
    process_unit *p = (process_unit *)queue->unit;
    if (!known(p, step))
        return st_fail(err, STRETTO_E_USAGE, "step %s is not one that %s was opened with", step->name, p->info.name);
    st_event_begin(done, queue->unit);
    int failed = STRETTO_OK;
    for (size_t i = 0; i < n_deps && failed == STRETTO_OK; i++) failed = st_event_wait(deps[i], &done->error);
    if (failed != STRETTO_OK) {
        done->start_ns = done->end_ns = st_clock_now(&queue->unit->clock);
        st_event_complete(done, failed, &done->error, step->name);
        return STRETTO_OK;
    }
    pthread_mutex_lock(&p->lock);
    int code = post(p, step, done, err);
    pthread_mutex_unlock(&p->lock);
    if (code == STRETTO_OK) st_bell_ring(&p->box->bell);
    return code;
}

static void process_quiet(st_unit *unit) {
    process_unit *p = (process_unit *)unit;
    watch w = {.unit = p};
    st_bell_quiet(&p->box->bell, lost, &w);
}

static bool process_bind(st_unit *unit, unsigned worker) {
    return st_lane_cpus_bind(&((process_unit *)unit)->cpus, worker);
}

/* ---- beginning and end ---- */

/* Asks it to end, and sees to it. */
static void process_end(process_unit *p) {
    atomic_store(&p->box->stop, true);
    st_bell_ring(&p->box->bell);
    for (uint64_t since = st_now_ns(); !gone(p); nap()) {
        if (st_now_ns() - since < END_NS) continue;
        pthread_mutex_lock(&p->lock);
        if (!reap(p)) end_by_force(p);
        pthread_mutex_unlock(&p->lock);
        return;
    }
}

static void process_free(process_unit *p) {
    for (process_queue *queue = p->queues, *next; queue; queue = next) {
        next = queue->next;
        st_free(queue);
    }
    if (p->box) munmap(p->box, sizeof *p->box);
    pthread_mutex_destroy(&p->lock);
    st_free(p->steps);
    st_free(p);
}

static void process_close(st_unit *unit) {
    process_unit *p = (process_unit *)unit;
    atomic_store(&p->closing, true);
    if (p->listening) pthread_join(p->listener, NULL);
    process_end(p);
    process_free(p);
}

static const st_unit_ops process_ops = {
    .info = process_info,
    .queue_open = process_queue_open,
    .queue_close = process_queue_close,
    .submit = process_submit,
    .wait = st_event_block,
    .quiet = process_quiet,
    .bind = process_bind,
    .cpu_ns = process_cpu_ns,
    .close = process_close,
};

static int describe(process_unit *p, const st_host *host, const st_cpu_options *lane, stretto_error *err) {
    st_unit_info own;
    int code = st_lane_describe(&own, host, lane, err);
    if (code != STRETTO_OK) return code;
    p->info = own;
    snprintf(p->info.name, sizeof p->info.name, "process:%.*s", ST_CUT(own.name, 39));
    snprintf(p->info.kind, sizeof p->info.kind, "process");
    p->info.max_pending = PROCESS_PENDING;
    p->info.shares_memory = false;
    st_lane_cpus_find(&p->cpus, &p->info, host, lane->pin);
    return STRETTO_OK;
}

static int box_create(process_unit *p, stretto_error *err) {
    void *data = mmap(NULL, sizeof *p->box, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return st_fail_memory(err, "a mailbox", sizeof *p->box);
    p->box = data;
    p->box->bell.shared = true;
    return STRETTO_OK;
}

static int steps_copy(process_unit *p, const st_process_options *options, stretto_error *err) {
    p->steps = st_alloc(options->n_steps, sizeof *p->steps);
    if (!p->steps) return st_fail_memory(err, "a list of steps", options->n_steps * sizeof *p->steps);
    if (options->n_steps) memcpy(p->steps, options->steps, options->n_steps * sizeof *p->steps);
    p->n_steps = options->n_steps;
    return STRETTO_OK;
}

static int fork_child(process_unit *p, const st_cpu_options *lane, stretto_error *err) {
    process_plan plan = {.box = p->box,
                         .parent = getpid(),
                         .n_threads = p->info.n_threads,
                         .cpus = &p->cpus,
                         .spin_ns = lane->spin_ns ? lane->spin_ns : ST_LANE_SPIN_NS};
    p->pid = fork();
    if (p->pid == 0) st_process_child(&plan);
    if (p->pid < 0) return st_fail(err, STRETTO_E_UNIT, "no second process could be made: %s", strerror(errno));
    if (clock_getcpuclockid(p->pid, &p->cpu_clock) != 0) p->cpu_clock = -1;
    return STRETTO_OK;
}

/* Until it says that it is ready. */
static int child_await(process_unit *p, stretto_error *err) {
    process_box *box = p->box;
    const struct timespec look = {.tv_nsec = LOOK_NS};
    for (uint64_t since = st_now_ns();;) {
        unsigned state = atomic_load(&box->state);
        if (state == PROCESS_READY) return STRETTO_OK;
        if (state == PROCESS_FAILED) return st_fail(err, STRETTO_E_UNIT, "%s: %s", p->info.name, box->failure.text);
        if (gone(p)) return st_fail(err, STRETTO_E_UNIT, "%s: %s", p->info.name, p->why);
        if (st_now_ns() - since > START_NS)
            return st_fail(err, STRETTO_E_UNIT, "%s: its process did not start within 10 s", p->info.name);
        st_futex_wait_shared(&box->state, PROCESS_STARTING, &look);
    }
}

int st_process_open(st_unit **out, const st_host *host, const st_process_options *options, stretto_error *err) {
    *out = NULL;
    process_unit *p = st_alloc(1, sizeof *p);
    if (!p) return st_fail_memory(err, "a unit", sizeof *p);
    p->unit = (st_unit){.ops = &process_ops, .clock = st_clock_real()};
    pthread_mutex_init(&p->lock, NULL);
    p->silent_ns = options->silent_ns ? options->silent_ns : SILENT_NS;
    int code = describe(p, host, &options->lane, err);
    if (code == STRETTO_OK) code = steps_copy(p, options, err);
    if (code == STRETTO_OK) code = box_create(p, err);
    if (code == STRETTO_OK) code = fork_child(p, &options->lane, err);
    if (code != STRETTO_OK) {
        process_free(p);
        return code;
    }
    code = child_await(p, err);
    if (code != STRETTO_OK) {
        process_close(&p->unit);
        return code;
    }
    *out = &p->unit;
    return STRETTO_OK;
}

pid_t st_process_id(const st_unit *unit) {
    return ((const process_unit *)unit)->pid;
}
