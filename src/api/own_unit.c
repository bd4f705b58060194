/* SPDX-License-Identifier: MIT
 * A unit that the program brings: its functions behind the inner interface. What the program need not know of stays
 * here: dependencies are waited for before it is asked, and events are completed when it says that a job is done. */
#include "api/api.h"
#include "base/error.h"
#include "base/mem.h"
#include "unit/event.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PENDING 64
#define MOST_PENDING 65536

typedef struct own_unit {
    st_unit unit; /* first member */
    stretto_unit_ops ops;
    stretto_unit_info info;
    void *device;
} own_unit;

typedef struct own_queue {
    st_queue queue; /* first member */
    void *handle;   /* the program's */
    pthread_mutex_t lock;
    pthread_cond_t idle;
    unsigned in_flight;     /* jobs whose completion has not been told to everybody; under lock */
    stretto_job *free_jobs; /* under lock */
    stretto_job *jobs;      /* [max_pending] */
} own_queue;

struct stretto_job {
    stretto_job *next; /* while it is free */
    own_queue *queue;
    st_event *done;
    const st_step *inner;
    stretto_step step; /* of a library's own step */
};

static void own_info(const st_unit *unit, st_unit_info *info) {
    const stretto_unit_info *own = &((const own_unit *)unit)->info;
    snprintf(info->name, sizeof info->name, "%s", own->name);
    snprintf(info->kind, sizeof info->kind, "%s", own->kind);
    snprintf(info->device, sizeof info->device, "%s", own->device);
    snprintf(info->driver, sizeof info->driver, "%s", own->driver);
    info->n_threads = own->n_threads;
    info->max_pending = own->max_pending;
    info->shares_memory = own->shares_memory;
}

/* What a function of the program's failed with, by its code and reason. */
static int own_fail(const own_unit *own, int code, const stretto_error *problem, const char *what, stretto_error *err) {
    return st_fail(err, st_code_of(code), "%s: %s", own->info.name, problem->text[0] ? problem->text : what);
}

/* ---- queues ---- */

static void queue_free(own_queue *q) {
    pthread_cond_destroy(&q->idle);
    pthread_mutex_destroy(&q->lock);
    st_free(q->jobs);
    st_free(q);
}

static int own_queue_open(st_unit *unit, st_queue **out, stretto_error *err) {
    own_unit *own = (own_unit *)unit;
    own_queue *q = st_alloc(1, sizeof *q);
    stretto_job *jobs = q ? st_alloc(own->info.max_pending, sizeof *jobs) : NULL;
    if (!jobs) {
        st_free(q);
        return st_fail_memory(err, "a queue", own->info.max_pending * sizeof *jobs);
    }
    q->queue.unit = unit;
    q->jobs = jobs;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->idle, NULL);
    for (unsigned i = 0; i < own->info.max_pending; i++) {
        jobs[i] = (stretto_job){.next = q->free_jobs, .queue = q};
        q->free_jobs = &jobs[i];
    }
    stretto_error problem = {0};
    int code = own->ops.queue_open ? own->ops.queue_open(own->device, &q->handle, &problem) : STRETTO_OK;
    if (code) {
        queue_free(q);
        return own_fail(own, code, &problem, "no queue could be opened", err);
    }
    *out = &q->queue;
    return STRETTO_OK;
}

static void own_queue_close(st_queue *queue) {
    own_queue *q = (own_queue *)queue;
    own_unit *own = (own_unit *)queue->unit;
    pthread_mutex_lock(&q->lock);
    while (q->in_flight > 0) pthread_cond_wait(&q->idle, &q->lock);
    pthread_mutex_unlock(&q->lock);
    if (own->ops.queue_close) own->ops.queue_close(own->device, q->handle);
    queue_free(q);
}

/* ---- jobs ---- */

static stretto_job *job_take(own_queue *q) {
    pthread_mutex_lock(&q->lock);
    stretto_job *job = q->free_jobs;
    if (job) {
        q->free_jobs = job->next;
        q->in_flight++;
    }
    pthread_mutex_unlock(&q->lock);
    return job;
}

static void job_give_back(stretto_job *job) {
    own_queue *q = job->queue;
    pthread_mutex_lock(&q->lock);
    job->next = q->free_jobs;
    q->free_jobs = job;
    pthread_mutex_unlock(&q->lock);
}

/* After this the queue may be gone. */
static void job_landed(own_queue *q) {
    pthread_mutex_lock(&q->lock);
    if (--q->in_flight == 0) pthread_cond_broadcast(&q->idle);
    pthread_mutex_unlock(&q->lock);
}

/* One of the library's own steps on a thread of the program's. */
static int run_inner(void *arg, unsigned worker, unsigned n_workers, stretto_error *err) {
    const st_step *inner = arg;
    st_worker alone = st_worker_alone();
    if (worker != 0 || n_workers != 1)
        return st_fail(err, STRETTO_E_USAGE, "step %s runs on one worker of a unit of your own, not on %u", inner->name,
                       n_workers);
    return inner->run(inner->arg, &alone, err);
}

static const stretto_step *job_step(stretto_job *job, const st_step *inner) {
    const stretto_step *user = st_api_step_user(inner);
    if (user) return user;
    job->step = (stretto_step){.name = inner->name,
                               .run = run_inner,
                               .arg = (void *)job->inner, /* read only */
                               .bytes = inner->bytes,
                               .operations = inner->operations};
    return &job->step;
}

/* The job is free again before anybody learns that it is done: who then submits the next finds room. */
static void job_end(stretto_job *job, uint64_t start_ns, uint64_t end_ns, int code, const stretto_error *error) {
    own_queue *q = job->queue;
    st_event *done = job->done;
    const char *name = job->inner->name;
    done->start_ns = start_ns;
    done->end_ns = end_ns;
    job_give_back(job);
    st_event_complete(done, code, error, name);
    job_landed(q);
}

void stretto_job_done(stretto_job *job, uint64_t start_ns, uint64_t end_ns, int code, const char *reason) {
    stretto_error error = {0};
    if (code) st_fail(&error, code, "%s", reason ? reason : "");
    job_end(job, start_ns, end_ns, code, &error);
}

/* The first failure among the dependencies, once all are done. */
static int wait_for(st_event *const *deps, size_t n_deps, stretto_error *err) {
    int code = STRETTO_OK;
    for (size_t i = 0; i < n_deps; i++) {
        int failed = st_event_wait(deps[i], code ? NULL : err);
        if (!code) code = failed;
    }
    return code;
}

/* A step takes its place in the queue once what it depends on is done, so that a chain of steps needs one place. */
static int own_submit(st_queue *queue, const st_step *step, st_event *const *deps, size_t n_deps, st_event *done,
                      stretto_error *err) {
    own_queue *q = (own_queue *)queue;
    own_unit *own = (own_unit *)queue->unit;
    st_event_begin(done, queue->unit);
    stretto_error problem = {0};
    int code = wait_for(deps, n_deps, &problem);
    if (code) {
        done->start_ns = done->end_ns = st_now_ns();
        st_event_complete(done, code, &problem, step->name);
        return STRETTO_OK;
    }
    stretto_job *job = job_take(q);
    if (!job)
        return st_fail(err, STRETTO_E_UNIT, "%s: the queue is full: %u submissions are pending", own->info.name,
                       own->info.max_pending);
    job->done = done;
    job->inner = step;
    code = own->ops.submit(own->device, q->handle, job_step(job, step), job, &problem);
    if (!code) return STRETTO_OK;
    job_give_back(job);
    job_landed(q);
    return own_fail(own, code, &problem, "the submission was refused", err);
}

/* ---- the unit ---- */

static void own_quiet(st_unit *unit) {
    own_unit *own = (own_unit *)unit;
    if (own->ops.quiet) own->ops.quiet(own->device);
}

static void own_close(st_unit *unit) {
    own_unit *own = (own_unit *)unit;
    if (own->ops.close) own->ops.close(own->device);
    st_free(own);
}

static const st_unit_ops own_ops = {
    .info = own_info,
    .queue_open = own_queue_open,
    .queue_close = own_queue_close,
    .submit = own_submit,
    .wait = st_event_block,
    .quiet = own_quiet,
    .close = own_close,
};

static bool terminated(const char *text, size_t size) {
    return memchr(text, '\0', size) != NULL;
}

static int check(const stretto_unit_ops *ops, const stretto_unit_info *info, stretto_error *err) {
    if (!ops->submit) return st_fail(err, STRETTO_E_USAGE, "a unit of your own needs a submit function");
    if (!terminated(info->name, sizeof info->name) || !terminated(info->kind, sizeof info->kind) ||
        !terminated(info->device, sizeof info->device) || !terminated(info->driver, sizeof info->driver))
        return st_fail(err, STRETTO_E_USAGE, "a unit's name, kind, device or driver has no end");
    if (!info->name[0] || !info->kind[0])
        return st_fail(err, STRETTO_E_USAGE, "a unit of your own needs a name and a kind, found \"%s\" and \"%s\"",
                       info->name, info->kind);
    if (info->max_pending > MOST_PENDING)
        return st_fail(err, STRETTO_E_USAGE, "%s: queues of %u submissions, wanted at most %d", info->name,
                       info->max_pending, MOST_PENDING);
    return STRETTO_OK;
}

int stretto_unit_open_own(stretto_unit **out, const stretto_unit_ops *ops, const stretto_unit_info *info, void *device,
                          stretto_error *err) {
    *out = NULL;
    int code = check(ops, info, err);
    if (code) return code;
    stretto_unit *unit = calloc(1, sizeof *unit);
    own_unit *own = unit ? st_alloc(1, sizeof *own) : NULL;
    if (!own) {
        free(unit);
        return st_fail_memory(err, "a unit", sizeof *own);
    }
    *own =
        (own_unit){.unit = {.ops = &own_ops, .clock = st_clock_real()}, .ops = *ops, .info = *info, .device = device};
    own->info.n_threads = 1;
    if (own->info.max_pending == 0) own->info.max_pending = DEFAULT_PENDING;
    unit->unit = &own->unit;
    *out = unit;
    return STRETTO_OK;
}
