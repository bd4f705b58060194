/* SPDX-License-Identifier: MIT
 * The streams engine of a run: from --schedule, --streams and --speculate to open streams. */
#ifndef CLI_RUN_SETUP_H
#define CLI_RUN_SETUP_H

#include "plan/choose.h"
#include "run.h"
#include "run/schedule.h"
#include "run_account.h"
#include "run_draft.h"

typedef struct run_setup {
    const run_options *o;
    session_options session;   /* with the units and chunks of the schedule */
    bool scheduled, automatic; /* automatic: the schedule is chosen once the model is open */
    st_schedule schedule;
    run_expected expected; /* what the schedule was predicted to give */
    char chunks[12 * ST_PLAN_CHUNKS_MAX], units[(ST_PLAN_NAME + 1) * ST_PLAN_UNITS_MAX];
    uint32_t threads[ST_PLAN_UNITS_MAX]; /* of each of the schedule's units; 0: one a core */
    st_lineup lineup;
    run_draft draft; /* of a schedule that has a draft model; must outlive the streams */
} run_setup;

/* Whether the options ask for more than one stream that goes from token to token. */
bool run_needs_streams(const run_options *o);

/* Reads --schedule, if there is one, and checks it with the other options. STRETTO_E_INPUT with the file's name, or
 * STRETTO_E_USAGE. *setup must stay where it is; the session is to be opened with setup->session. */
int run_setup_read(run_setup *setup, cli *cx, const run_options *o, stretto_error *err);

/* Splits the session's model into chunks and puts them on its units. STRETTO_E_USAGE, or, where the layers are the
 * schedule's, STRETTO_E_INPUT with the file's name. */
int run_setup_place(const run_setup *setup, session *s, stretto_error *err);

/* --schedule auto: measures what chunks cost on the units of this machine and takes the schedule that pays most for the
 * workload, with as many streams in flight as --streams says. Nothing to do otherwise. The session's chunks are placed.
 */
int run_setup_choose(run_setup *setup, session *s, const st_workload *workload, stretto_error *err);

/* Opens the streams on a session whose chunks are placed. STRETTO_E_INPUT when the schedule does not fit the model, or
 * this machine has too little memory for it. */
int run_setup_open(run_setup *setup, session *s, uint32_t n_ctx, st_streams **out, stretto_error *err);

/* One prompt through the streams engine, with what st_generate takes (but sampler and n_batch) and gives. */
int run_setup_generate(run_setup *setup, st_streams *streams, const st_generate_options *o,
                       const st_sampler_options *sampling, st_generate_result *result, stretto_error *err);

/* Notes what a pass of these streams took, for the account. */
void run_setup_see(run_setup *setup, const st_pass_seen *pass);

void run_setup_close(run_setup *setup); /* after its streams, before the session; zeroed memory is fine */

/* How many streams there are. */
uint32_t run_setup_streams(const run_setup *setup);

#endif
