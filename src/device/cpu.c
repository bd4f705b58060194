/* SPDX-License-Identifier: MIT
 * Opening and closing a lane, and what it says of itself. */
#include "device/cpu.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/spin.h"
#include "base/thread.h"
#include "device/lane.h"

#include <stdio.h>
#include <string.h>

static void lane_info(const st_unit *unit, st_unit_info *info) {
    *info = ((const st_lane *)unit)->info;
}

/* Waits for the leader, which ends when all queues are empty, and for other units' threads that are just calling ours.
 */
static void lane_close(st_unit *unit) {
    st_lane *lane = (st_lane *)unit;
    atomic_store(&lane->stop, true);
    st_bell_ring(&lane->bell);
    pthread_join(lane->leader, NULL);
    for (unsigned turn = 0; atomic_load_explicit(&lane->callers, memory_order_acquire) > 0;)
        st_spin_turn(turn++, ST_SPIN_IDLE);
    for (st_lane_queue *queue = lane->queues, *next; queue; queue = next) {
        next = queue->next;
        st_free(queue);
    }
    st_pool_destroy(lane->pool);
    pthread_cond_destroy(&lane->completed);
    pthread_mutex_destroy(&lane->lock);
    st_free(lane);
}

static bool lane_bind(st_unit *unit, unsigned worker) {
    return st_lane_cpus_bind(&((st_lane *)unit)->cpus, worker);
}

static void lane_quiet(st_unit *unit) {
    st_bell_quiet(&((st_lane *)unit)->bell, NULL, NULL);
}

static uint64_t lane_cpu_ns(st_unit *unit) {
    st_lane *lane = (st_lane *)unit;
    return st_thread_cpu_ns_of(lane->leader) + st_pool_cpu_ns(lane->pool);
}

static const st_unit_ops lane_ops = {
    .info = lane_info,
    .queue_open = st_lane_queue_open,
    .queue_close = st_lane_queue_close,
    .submit = st_lane_submit,
    .wait = st_event_block,
    .quiet = lane_quiet,
    .bind = lane_bind,
    .cpu_ns = lane_cpu_ns,
    .close = lane_close,
};

/* Copies the cores in ascending order; each must be there, once. */
static int cores_copy(st_unit_info *info, const st_host *host, const st_cpu_options *options, stretto_error *err) {
    if (options->n_cores == 0) return st_fail(err, STRETTO_E_USAGE, "a cpu unit needs at least one core");
    if (options->n_cores > ST_UNIT_MAX_CORES)
        return st_fail(err, STRETTO_E_USAGE, "a cpu unit of %u cores: at most %d are possible", options->n_cores,
                       ST_UNIT_MAX_CORES);
    for (unsigned i = 0; i < options->n_cores; i++) {
        unsigned core = options->cores[i], at = i;
        if (core >= host->n_cores)
            return st_fail(err, STRETTO_E_USAGE, "no core %u: %u are allowed here (0 to %u)", core, host->n_cores,
                           host->n_cores - 1);
        for (; at > 0 && info->cores[at - 1] >= core; at--) {
            if (info->cores[at - 1] == core)
                return st_fail(err, STRETTO_E_USAGE, "core %u stands twice in one cpu unit", core);
            info->cores[at] = info->cores[at - 1];
        }
        info->cores[at] = core;
    }
    info->n_cores = options->n_cores;
    return STRETTO_OK;
}

/* "cpu:0+1", and "cpu:0-3+8" for three and more in a row, as st_core_sets_parse reads it. */
static void name_write(st_unit_info *info) {
    st_buf text = {0};
    st_buf_text(&text, "cpu:");
    for (unsigned i = 0, last; i < info->n_cores; i = last + 1) {
        for (last = i; last + 1 < info->n_cores && info->cores[last + 1] == info->cores[last] + 1;) last++;
        if (last == i + 1) last = i;
        st_buf_printf(&text, "%s%u", i > 0 ? "+" : "", info->cores[i]);
        if (last > i) st_buf_printf(&text, "-%u", info->cores[last]);
    }
    if (!text.failed) snprintf(info->name, sizeof info->name, "%s", text.data);
    if (!text.failed && text.len >= sizeof info->name) strcpy(info->name + sizeof info->name - 4, "...");
    st_buf_free(&text);
}

static const char *plural(unsigned n) {
    return n == 1 ? "" : "s";
}

/* How many threads the lane gets. What was asked for and cannot be is warned of; what nobody asked for is only noted.
 */
static unsigned threads_choose(const st_unit_info *info, const st_host *host, const st_cpu_options *options) {
    unsigned want = options->n_threads ? options->n_threads : info->n_cores;
    unsigned use = want < info->n_cores ? want : info->n_cores;
    if (use > host->max_threads) use = host->max_threads;
    if (use == want) return use;
    bool quota = host->max_threads < host->n_cores && use == host->max_threads;
    if (options->n_threads == 0)
        st_info(options->log, "%s has %u cores, but %u allowed here (cgroup quota): using %u thread%s", info->name,
                info->n_cores, use, use, plural(use));
    else if (quota || info->n_cores == host->n_cores)
        st_warn(options->log, "%u threads asked, %u core%s allowed here%s: using %u", want, use, plural(use),
                quota ? " (cgroup quota)" : "", use);
    else
        st_warn(options->log, "%u threads asked, %s has %u core%s: using %u", want, info->name, info->n_cores,
                plural(info->n_cores), use);
    return use;
}

int st_lane_describe(st_unit_info *info, const st_host *host, const st_cpu_options *options, stretto_error *err) {
    *info = (st_unit_info){.max_pending = ST_LANE_MAX_PENDING, .shares_memory = true};
    int code = cores_copy(info, host, options, err);
    if (code != STRETTO_OK) return code;
    name_write(info);
    snprintf(info->kind, sizeof info->kind, "cpu");
    snprintf(info->device, sizeof info->device, "%s", host->cpu_model);
    info->n_threads = threads_choose(info, host, options);
    return STRETTO_OK;
}

void st_lane_cpus_find(st_lane_cpus *cpus, const st_unit_info *info, const st_host *host, bool pin) {
    cpus->n = pin ? info->n_threads : 0;
    for (unsigned i = 0; i < cpus->n; i++) cpus->cpu[i] = host->cores[info->cores[i]].cpu;
}

const unsigned *st_lane_cpus_pool(const st_lane_cpus *cpus) {
    return cpus->n > 0 ? cpus->cpu : NULL;
}

bool st_lane_cpus_bind(const st_lane_cpus *cpus, unsigned worker) {
    return worker < cpus->n && st_thread_bind(pthread_self(), cpus->cpu[worker], NULL);
}

static int lane_start(st_lane *lane, const st_host *host, const st_cpu_options *options, stretto_error *err) {
    st_lane_cpus_find(&lane->cpus, &lane->info, host, options->pin);
    const st_pool_options pool = {.count = lane->info.n_threads,
                                  .cpus = st_lane_cpus_pool(&lane->cpus),
                                  .spin_ns = UINT64_MAX, /* the leader sends it to sleep */
                                  .log = options->log};
    int code = st_pool_create(&lane->pool, &pool, err);
    if (code != STRETTO_OK) return code;
    char name[32];
    snprintf(name, sizeof name, "st-lane-%u", lane->info.cores[0]);
    code = st_thread_start(&lane->leader, st_lane_leader, lane, name, err);
    if (code != STRETTO_OK)
        st_pool_destroy(lane->pool);
    else if (options->pin)
        st_thread_bind(lane->leader, lane->cpus.cpu[0], options->log);
    return code;
}

int st_cpu_open(st_unit **out, const st_host *host, const st_cpu_options *options, stretto_error *err) {
    *out = NULL;
    st_lane *lane = st_alloc(1, sizeof *lane);
    if (!lane) return st_fail_memory(err, "a cpu unit", sizeof *lane);
    lane->unit = (st_unit){.ops = &lane_ops, .clock = st_clock_real()};
    lane->spin_ns = options->spin_ns ? options->spin_ns : ST_LANE_SPIN_NS;
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->completed, NULL);
    int code = st_lane_describe(&lane->info, host, options, err);
    if (code == STRETTO_OK) code = lane_start(lane, host, options, err);
    if (code == STRETTO_OK) {
        *out = &lane->unit;
        return STRETTO_OK;
    }
    pthread_cond_destroy(&lane->completed);
    pthread_mutex_destroy(&lane->lock);
    st_free(lane);
    return code;
}
