/* SPDX-License-Identifier: MIT
 * A device of the tests' own: a thread that executes submissions one after the other, whatever queue they come from. A
 * step whose arg is a sleep is "executed" by sleeping, any other by running it. */
#ifndef TEST_API_DEVICE_H
#define TEST_API_DEVICE_H

#include "stretto/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct entry {
    const stretto_step *step;
    stretto_job *job;
} entry;

typedef struct device {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    entry entries[16];
    unsigned head, tail;
    bool stop, hold; /* hold: executes nothing until it is let go */
    int refuse;      /* submit returns this */
    int fail;        /* jobs end with this */
    unsigned opened, closed, quieted, executed, ended;
} device;

static int sleep_run(void *arg, unsigned worker, unsigned n_workers, stretto_error *err) {
    (void)worker, (void)n_workers, (void)err;
    struct timespec t = {.tv_nsec = *(const long *)arg};
    nanosleep(&t, NULL);
    return 0;
}

/* A step that takes *ns. */
static inline stretto_step sleep_step(const char *name, long *ns) {
    return (stretto_step){.name = name, .run = sleep_run, .arg = ns};
}

static void *device_main(void *arg) {
    device *d = arg;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->stop && (d->hold || d->head == d->tail)) pthread_cond_wait(&d->changed, &d->lock);
        if (d->stop) break;
        entry e = d->entries[d->head++ % 16];
        int fail = d->fail;
        d->executed++;
        pthread_mutex_unlock(&d->lock);
        stretto_error err = {0};
        uint64_t start = stretto_now_ns();
        int code = fail ? fail : e.step->run(e.step->arg, 0, 1, &err);
        stretto_job_done(e.job, start, stretto_now_ns(), code, fail ? "the device is on fire" : code ? err.text : NULL);
        pthread_mutex_lock(&d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static int device_queue_open(void *arg, void **queue, stretto_error *err) {
    (void)err;
    ++((device *)arg)->opened;
    *queue = arg;
    return 0;
}

static void device_queue_close(void *arg, void *queue) {
    if (queue == arg) ++((device *)arg)->closed;
}

static int device_submit(void *arg, void *queue, const stretto_step *step, stretto_job *job, stretto_error *err) {
    device *d = arg;
    if (d->refuse) {
        snprintf(err->text, sizeof err->text, "no more of queue %s", queue == arg ? "mine" : "somebody");
        return d->refuse;
    }
    pthread_mutex_lock(&d->lock);
    d->entries[d->tail++ % 16] = (entry){step, job};
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return 0;
}

static void device_quiet(void *arg) {
    ++((device *)arg)->quieted;
}

static void device_close(void *arg) {
    device *d = arg;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    d->ended++;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
}

static const stretto_unit_ops device_ops = {
    .queue_open = device_queue_open,
    .queue_close = device_queue_close,
    .submit = device_submit,
    .quiet = device_quiet,
    .close = device_close,
};

static inline stretto_unit *device_open(device *d, const char *name, unsigned max_pending) {
    stretto_unit_info info = {
        .kind = "test", .device = "a thread", .driver = "1.0", .max_pending = max_pending, .shares_memory = true};
    stretto_unit *unit = NULL;
    stretto_error err = {0};
    memset(d, 0, sizeof *d);
    snprintf(info.name, sizeof info.name, "%s", name);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    if (pthread_create(&d->thread, NULL, device_main, d)) abort();
    must(stretto_unit_open_own(&unit, &device_ops, &info, d, &err), &err);
    return unit;
}

static inline void device_free(device *d) {
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
}

static inline void device_hold(device *d, bool hold) {
    pthread_mutex_lock(&d->lock);
    d->hold = hold;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

#endif
