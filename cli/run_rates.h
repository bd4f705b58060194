/* SPDX-License-Identifier: MIT
 * What a run came to, in the planner's figures, so that measured and predicted can stand side by side. */
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

/* What was run: prompts that were all handed over at once, and the least and the most of their tokens, and of those
 * that they generated. */
typedef struct run_load {
    uint32_t n, prompt[2], generated[2];
} run_load;

void run_load_add(run_load *load, uint32_t n_prompt, uint32_t n_generated); /* one prompt more */

/* What was predicted, and for what. */
typedef struct run_expected {
    bool there, for_known; /* for_known: the file says what it was predicted for */
    st_workload workload;
    run_rates rates;
} run_expected;

run_rates run_rates_predicted(const st_sim_result *result);

/* One line of figures on standard error; one more with those that were predicted, if any were; and their quotients, or
 * why they cannot be compared: it was another number of prompts, or one of them was, or became, longer or shorter by
 * more than a twentieth. */
void run_rates_print(cli *cx, const run_rates *measured, const run_load *load, const run_expected *expected);

#endif
