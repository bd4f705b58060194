/* SPDX-License-Identifier: MIT
 * The spike's report: what its four prompts gave, and its forms. */
#ifndef ST_REPORT_SPIKE_REPORT_H
#define ST_REPORT_SPIKE_REPORT_H

#include "probe/spike.h"
#include "report/json.h"

#define ST_SPIKE_PROMPTS 4
#define ST_SPIKE_MAX_RUNS 64

typedef struct st_spike_prompt {
    char category[ST_PROBE_NAME];
    unsigned n_tokens; /* of the prompt */
    bool probed;
    st_spike_record spike; /* of the first run with the probe */
    unsigned n_runs;       /* pairs of runs, without and with the probe, taken in turns */
    double baseline[ST_SPIKE_MAX_RUNS], spiked[ST_SPIKE_MAX_RUNS]; /* decode tokens/s, first token excluded */
    bool ids_equal;                                                /* all runs gave the same ids; none: no matter */
} st_spike_prompt;

/* Filled by whoever runs the protocol. */
typedef struct st_spike_report {
    char model[256];    /* its name and chunks, in a line */
    unsigned n_decoded; /* tokens of each run */
    st_spike_prompt prompts[ST_SPIKE_PROMPTS];
    unsigned n_prompts; /* with anything in them */
    bool complete;      /* not interrupted */
    bool has_ratio;     /* found by st_spike_report_finish: */
    st_interval ratio;  /* decode with the probe over without, median over all pairs of runs, 95 % */
} st_spike_report;

/* Finds the ratio, from whatever runs there are. STRETTO_E_MEMORY. */
int st_spike_report_finish(st_spike_report *report, stretto_error *err);

/* Prompts whose probe has all its trials. */
unsigned st_spike_report_probed(const st_spike_report *report);

/* The verdict over all probed prompts, from the hull of their intervals; undecided while the report is not complete.
 * False when nothing was probed. */
bool st_spike_report_verdict(const st_spike_report *report, enum st_overlap *verdict, st_interval *hull);

/* Each appends to out; out->failed tells that memory was out. origin may be NULL. */

/* The raw trials and the factors of one probe, a line each, with prefix ("[Spike] ") in front. */
void st_spike_log(st_buf *out, const st_spike_record *record, const char *prefix);
void st_spike_markdown(st_buf *out, const st_spike_report *report, const st_origin *origin);
#define ST_SPIKE_SCHEMA "stretto-spike/1"
json_t *st_spike_json(const st_spike_report *report, const st_origin *origin); /* NULL: out of memory */

#endif
