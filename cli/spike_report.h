/* SPDX-License-Identifier: MIT
 * What stretto spike measured, and its three forms: the report in Markdown, the raw log, and JSON. */
#ifndef CLI_SPIKE_REPORT_H
#define CLI_SPIKE_REPORT_H

#include "spike.h"

#include <jansson.h>

#define SPIKE_PROMPTS 4
#define SPIKE_MAX_PAIRS 50

typedef struct spike_row {
    const char *category;
    uint32_t n_prompt;         /* tokens */
    spike_trials trials;       /* of the first run with the probe */
    bool probed;
    unsigned n_pairs;          /* of runs with and without the probe, both done */
    double off[SPIKE_MAX_PAIRS], on[SPIKE_MAX_PAIRS]; /* decode tokens/s */
    bool ids_equal;            /* all runs gave the same ids */
} spike_row;

typedef struct spike_result {
    const session *s;
    uint32_t n_tokens;         /* decoded in each run */
    unsigned n_pairs;          /* asked for */
    spike_row rows[SPIKE_PROMPTS];
    unsigned n_rows;           /* with anything in them */
    bool has_ratio;
    st_interval ratio;         /* decode with the probe over without, median of pairs, 95 % */
    bool complete;
} spike_result;

/* Fills ratio from the rows. */
int spike_result_finish(spike_result *r, stretto_error *err);

void spike_markdown(st_buf *out, const spike_result *r);
json_t *spike_json(const spike_result *r);

#endif
