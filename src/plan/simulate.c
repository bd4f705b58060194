/* SPDX-License-Identifier: MIT */
#include "plan/simulate.h"

#include "base/error.h"
#include "plan/sim_impl.h"
#include "stat/stat.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_A_LOOK 4096 /* at the wish to stop */

const char *const st_sim_what_names[] = {"prefill", "decode", "verify", "draft", "host", NULL};

void st_sim_result_free(st_sim_result *result) {
    free(result->streams);
    free(result->events);
    *result = (st_sim_result){0};
}

static int too_long(stretto_error *err) {
    return st_fail(err, STRETTO_E_INPUT, "more than %u events: too many streams, tokens or chunks to simulate",
                   ST_SIM_STEPS_MAX);
}

/* At least so many events: a call has one in each chunk, and one at the host. */
static uint64_t least_steps(const st_schedule *s, const st_workload *w) {
    uint64_t batch = s->batch < w->streams ? s->batch : w->streams, tokens = 1 + s->longest_draft;
    uint64_t decodes = (w->streams + batch - 1) / batch * ((w->generate - 1) / tokens);
    return (decodes + (uint64_t)w->streams * w->prompt / s->micro_batch) * (s->n_chunks + 1u);
}

static int check(const st_costs *costs, const st_schedule *schedule, const st_workload *workload, uint32_t *unit_of,
                 stretto_error *err) {
    if (workload->streams == 0 || workload->prompt == 0 || workload->generate == 0)
        return st_fail(err, STRETTO_E_USAGE,
                       "a workload of %u streams, %u tokens of prompt and %u to generate: expected "
                       "at least one of each",
                       workload->streams, workload->prompt, workload->generate);
    int code = st_costs_fit(costs, schedule, (uint64_t)workload->prompt + workload->generate, unit_of, err);
    if (code) return code;
    if (schedule->draft != ST_DRAFT_NONE && costs->acceptance[schedule->draft] < 0)
        return st_fail(err, STRETTO_E_INPUT, "how often a draft by %s is right is not known (\"acceptance\")",
                       st_draft_names[schedule->draft]);
    return least_steps(schedule, workload) > ST_SIM_STEPS_MAX ? too_long(err) : STRETTO_OK;
}

/* ---- numbers ---- */

static double median_rate(const st_sim_result *out) {
    double *rates = calloc(out->n_streams, sizeof *rates), median = 0;
    size_t n = 0;
    for (uint32_t i = 0; rates && i < out->n_streams; i++) {
        const st_sim_stream *s = &out->streams[i];
        if (s->tokens > 1 && s->last_ns > s->first_ns) rates[n++] = (s->tokens - 1) * 1e9 / (s->last_ns - s->first_ns);
    }
    if (n > 0) median = st_median(rates, n);
    free(rates);
    return median;
}

static void sum_streams(st_sim_result *out) {
    double n = out->n_streams, gaps = 0, n_gaps = 0;
    for (uint32_t i = 0; i < out->n_streams; i++) {
        const st_sim_stream *s = &out->streams[i];
        out->ttft_ns += s->first_ns / n;
        out->latency_ns += s->last_ns / s->tokens / n;
        gaps += s->last_ns - s->first_ns;
        n_gaps += s->tokens - 1;
        if (s->first_ns > out->worst_ttft_ns) out->worst_ttft_ns = s->first_ns;
        if (s->worst_gap_ns > out->worst_gap_ns) out->worst_gap_ns = s->worst_gap_ns;
    }
    out->gap_ns = n_gaps > 0 ? gaps / n_gaps : 0;
    out->stream_tokens_per_s = median_rate(out);
}

/* From the last token's event back to the start. The gaps between are latencies: whatever waited for a unit has the
 * unit's last event as its cause. */
static void find_path(st_sim_result *out) {
    uint32_t last = ST_SIM_NONE;
    for (size_t i = out->n_events; i-- > 0 && last == ST_SIM_NONE;) {
        if (out->events[i].what == ST_SIM_HOST && out->events[i].end_ns == out->end_ns) last = (uint32_t)i;
    }
    for (uint32_t at = last; at != ST_SIM_NONE; at = out->events[at].cause) {
        const st_sim_event *event = &out->events[at];
        double before = event->cause == ST_SIM_NONE ? 0 : out->events[event->cause].end_ns;
        out->path.unit_ns[event->unit] += event->end_ns - event->start_ns;
        out->path.latency_ns += event->start_ns - before;
    }
}

static void sum_up(sim *s, const uint32_t *unit_of) {
    st_sim_result *out = s->out;
    uint64_t tokens = (uint64_t)s->workload->prompt + s->workload->generate;
    double decoded = (double)out->n_streams * (s->workload->generate - 1);
    if (s->decoding_ns > 0) out->tokens_per_s = decoded * 1e9 / s->decoding_ns;
    if (s->reading_ns > 0)
        out->prefill_tokens_per_s = (double)out->n_streams * s->workload->prompt * 1e9 / s->reading_ns;
    out->accepted = s->n_verified ? (double)s->n_accepted / (double)s->n_verified : 1;
    for (uint32_t u = 0; u <= s->n_units; u++)
        out->utilisation[u] = out->end_ns > 0 ? out->busy_ns[u] / out->end_ns : 0;
    st_costs_memory(s->costs, s->schedule, unit_of, tokens, out->memory);
    for (uint32_t i = 0; i < s->costs->n_memories + s->costs->n_units; i++)
        out->memory_bytes = st_bytes_sum(out->memory_bytes, out->memory[i]);
    sum_streams(out);
    if (s->options->record) find_path(out);
}

/* ---- all of it ---- */

static bool stopped(const st_sim_options *o) {
    return o->cancel && atomic_load_explicit(o->cancel, memory_order_relaxed);
}

static int run(sim *s, const uint32_t *unit_of) {
    s->out->n_streams = s->workload->streams;
    s->out->streams = calloc(s->out->n_streams, sizeof *s->out->streams);
    if (!s->out->streams) return st_fail_memory(s->err, "a simulation's streams", s->out->n_streams);
    st_rng_seed(&s->rng, s->options->seed);
    sim_units_init(s, unit_of);
    sim_flow_begin(s);
    for (uint64_t turn = 1; s->n_done < s->workload->streams && sim_step(s); turn++) {
        if (s->out->n_steps > ST_SIM_STEPS_MAX) return too_long(s->err);
        if (turn % STEPS_A_LOOK == 0 && stopped(s->options))
            return st_fail(s->err, STRETTO_E_STOPPED, "interrupted while simulating");
    }
    if (s->code) return s->code;
    if (s->n_done != s->workload->streams)
        return st_fail(s->err, STRETTO_E_INTERNAL, "the simulation stood still with %u of %u streams done", s->n_done,
                       s->workload->streams);
    sim_units_end(s);
    sum_up(s, unit_of);
    return STRETTO_OK;
}

int st_simulate(st_sim_result *out, const st_costs *costs, const st_schedule *schedule, const st_workload *workload,
                const st_sim_options *options, stretto_error *err) {
    *out = (st_sim_result){0};
    uint32_t unit_of[ST_PLAN_UNITS_MAX];
    int code = check(costs, schedule, workload, unit_of, err);
    if (code) return code;
    sim *s = calloc(1, sizeof *s);
    if (!s) return st_fail_memory(err, "a simulation", sizeof *s);
    s->costs = costs;
    s->schedule = schedule;
    s->workload = workload;
    s->options = options;
    s->out = out;
    s->err = err;
    code = run(s, unit_of);
    free(s->arrivals);
    free(s->calls);
    free(s->slots);
    free(s->shares);
    free(s);
    if (code) st_sim_result_free(out);
    return code;
}
