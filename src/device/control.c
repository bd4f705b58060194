/* SPDX-License-Identifier: MIT */
#include "device/control.h"

#include "base/error.h"
#include "base/mem.h"
#include "device/timing.h"

#include <stdlib.h>
#include <string.h>

#define LINE 64u
#define MIB ((uint64_t)1 << 20)
#define MOST_OPERATIONS ((uint64_t)1 << 42)

#define READ_PIECES 32     /* of a pass */
#define READ_NS 150000000u /* to measure each order for */
#define BURN_NS 100000000u
#define BURN_STEP_NS 5e5

struct st_control {
    const st_kern *kern;
    enum st_burn what;
    enum st_stream_order order;
    uint32_t rounds;      /* of arithmetic */
    st_region memory;     /* what is read */
    uint64_t total_lines; /* of it */
    uint64_t lines, next; /* of a run; the first of the next run */
    st_step step;
};

static int compute_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)err;
    const st_control *c = arg;
    uint32_t lo, hi;
    st_worker_range(worker, c->rounds, &lo, &hi);
    c->kern->burn[c->what](hi - lo);
    return STRETTO_OK;
}

static int stream_run(void *arg, const st_worker *worker, stretto_error *err) {
    (void)err;
    st_control *c = arg;
    uint64_t lo = c->lines * worker->id / worker->count, hi = c->lines * (worker->id + 1) / worker->count;
    c->kern->stream(c->memory.data + (c->next + lo) * LINE, (hi - lo) * LINE, c->order);
    st_worker_sync(worker); /* all know where they are */
    if (worker->id == 0) {
        c->next += c->lines;
        if (c->next + c->lines > c->total_lines) c->next = 0;
    }
    return STRETTO_OK;
}

static int control_create(st_control **out, const st_kern *kern, stretto_error *err) {
    st_control *c = calloc(1, sizeof *c);
    *out = c;
    if (!c) return st_fail_memory(err, "a control step", sizeof *c);
    c->kern = kern;
    c->memory.fd = -1;
    return STRETTO_OK;
}

int st_control_compute(st_control **out, const st_kern *kern, enum st_burn what, uint64_t operations,
                       stretto_error *err) {
    *out = NULL;
    if (operations == 0 || operations > MOST_OPERATIONS)
        return st_fail(err, STRETTO_E_USAGE, "a step of %llu multiply-adds: 1 to %llu are possible",
                       (unsigned long long)operations, (unsigned long long)MOST_OPERATIONS);
    st_control *c;
    int code = control_create(&c, kern, err);
    if (code) return code;
    c->what = what;
    c->rounds = (uint32_t)((operations + ST_BURN_ROUND - 1) / ST_BURN_ROUND);
    c->step =
        (st_step){.name = "compute", .run = compute_run, .arg = c, .operations = (uint64_t)c->rounds * ST_BURN_ROUND};
    *out = c;
    return STRETTO_OK;
}

int st_control_stream(st_control **out, const st_kern *kern, enum st_stream_order order, uint64_t bytes,
                      uint64_t memory_bytes, stretto_error *err) {
    *out = NULL;
    if (bytes == 0) return st_fail(err, STRETTO_E_USAGE, "a step that reads 0 bytes");
    st_control *c;
    int code = control_create(&c, kern, err);
    if (code) return code;
    c->order = order;
    c->lines = bytes / LINE + (bytes % LINE != 0);
    c->total_lines = c->lines > memory_bytes / LINE ? c->lines : memory_bytes / LINE;
    code = bytes > SIZE_MAX / 2 ? st_fail_memory(err, "memory to read", bytes)
                                : st_region_create(&c->memory, "stretto-stream", c->total_lines * LINE, err);
    if (code) {
        st_control_free(c);
        return code;
    }
    memset(c->memory.data, 1, c->memory.bytes); /* pages of their own, not all the same zero page */
    c->step = (st_step){.name = "stream", .run = stream_run, .arg = c, .bytes = c->lines * LINE};
    *out = c;
    return STRETTO_OK;
}

void st_control_free(st_control *control) {
    if (!control) return;
    st_region_destroy(&control->memory);
    free(control);
}

const st_step *st_control_step(const st_control *control) {
    return &control->step;
}

uint64_t st_control_memory(const st_host *host) {
    uint64_t bytes = 8 * (uint64_t)host->llc_bytes;
    if (bytes < 128 * MIB) bytes = 128 * MIB;
    if (bytes > 1024 * MIB) bytes = 1024 * MIB;
    return host->memory_bytes > 0 && bytes > host->memory_bytes / 8 ? host->memory_bytes / 8 : bytes;
}

static st_peak peak_of(const st_timing *time, uint64_t work) {
    return (st_peak){.best = (double)work / time->best_ns, .median = (double)work / time->median_ns};
}

/* A core draws more of several streams than of one, most of them; which is faster is for the machine to say. */
static int measure_read(st_peaks *out, st_unit *unit, const st_kern *kern, uint64_t memory_bytes, stretto_error *err) {
    st_control *c;
    st_timing time;
    int code = st_control_stream(&c, kern, ST_STREAM_ONE, memory_bytes / READ_PIECES, memory_bytes, err);
    if (code) return code;
    unsigned pieces = (unsigned)(c->total_lines / c->lines);
    for (int order = 0; order < ST_STREAM_ORDERS && !code; order++) {
        c->order = (enum st_stream_order)order;
        code = st_step_time(&time, unit, &c->step, pieces, READ_NS, err);
        st_peak peak = code ? (st_peak){0} : peak_of(&time, c->step.bytes);
        if (peak.median <= out->read.median) continue;
        out->read = peak;
        out->order = c->order;
    }
    out->memory_bytes = pieces * c->step.bytes;
    st_control_free(c);
    return code;
}

/* Work is doubled until it takes long enough to be timed well. */
static int measure_burn(st_peaks *out, st_unit *unit, const st_kern *kern, enum st_burn what, stretto_error *err) {
    st_control *c;
    st_timing time;
    int code = st_control_compute(&c, kern, what, (uint64_t)ST_BURN_ROUND * out->n_threads, err);
    if (code) return code;
    do {
        c->rounds *= 2;
        code = st_step_time(&time, unit, &c->step, 1, 0, err);
    } while (!code && time.best_ns < BURN_STEP_NS);
    if (!code) code = st_step_time(&time, unit, &c->step, 1, BURN_NS, err);
    if (!code) out->burn[what] = peak_of(&time, (uint64_t)c->rounds * ST_BURN_ROUND);
    st_control_free(c);
    return code;
}

int st_peaks_measure(st_peaks *out, st_unit *unit, const st_kern *kern, uint64_t memory_bytes, stretto_error *err) {
    st_unit_info info;
    st_unit_info_get(unit, &info);
    if (strcmp(info.kind, "cpu") != 0)
        return st_fail(err, STRETTO_E_USAGE, "the peaks of unit %s cannot be measured: it is no cpu lane", info.name);
    *out = (st_peaks){.n_threads = info.n_threads};
    int code = measure_read(out, unit, kern, memory_bytes, err);
    for (int what = 0; what < ST_BURNS && !code; what++) code = measure_burn(out, unit, kern, (enum st_burn)what, err);
    return code;
}
