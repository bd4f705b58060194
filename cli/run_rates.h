/* SPDX-License-Identifier: MIT
 * What a run came to, in the planner's figures. */
#ifndef CLI_RUN_RATES_H
#define CLI_RUN_RATES_H

#include "cli.h"
#include "plan/simulate.h"
#include "run/streams.h"

/* When one stream was read and decoded, in ns from the start of the run. */
typedef struct run_span {
    double read_ns, first_ns, last_ns; /* began to be read; first and last id chosen */
    uint32_t n_prompt, n_ids;
} run_span;

/* As in st_sim_result: all ids but each stream's first, over the time in which any stream decodes; the median over
 * streams of their own rates; prompts over the time in which any is read; mean time to the first id. 0: unknown. */
typedef struct run_rates {
    double tokens_per_s, stream_tokens_per_s, prefill_tokens_per_s, ttft_ms;
} run_rates;

run_span run_span_of(const st_job_result *result, uint32_t n_prompt);
/* Of streams with at least one id. */
run_rates run_rates_of(const run_span *spans, size_t n);

run_rates run_rates_predicted(const st_sim_result *result);
run_rates run_rates_of_sim(const st_sim_rates *rates);
void run_rates_print(cli *cx, const char *what, const run_rates *rates); /* a line of figures on standard error */
/* In tokens per second and nanoseconds; the caller's reference. NULL when memory is out. */
json_t *run_rates_json(const run_rates *rates);

#endif
