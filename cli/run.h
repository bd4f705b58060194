/* SPDX-License-Identifier: MIT
 * What the two forms of stretto run share: one prompt (cmd_run.c), and many as streams (run_streams.c). */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "run/generate.h"
#include "session.h"

#define RUN_SCHEDULE_MAX (1u << 20) /* bytes of a schedule's file; parsed it takes twenty times as many */

typedef struct run_options {
    session_options session;
    const char *prompt, *file, *ids, *system, *prompts, *schedule, *speculate, *summary;
    uint32_t n, top_k, repeat_last, streams;
    double temperature, top_p, min_p, repeat_penalty;
    uint64_t seed;
    bool chat, special, ignore_end, dump_ids, quiet, json, verify;
} run_options;

/* The sampling that the options ask for. */
st_sampler_options run_sampling(const run_options *o);

/* Appends the text of one id; first: the first one after the prompt. */
int run_decode(const st_tokenizer *tok, const run_options *o, int32_t id, bool first, st_utf8_stream *stream,
               st_buf *text, stretto_error *err);

/* Appends the ids of a prompt, in the model's chat form where the options say so. */
int run_encode(session *s, const run_options *o, const st_buf *text, st_ids *ids, stretto_error *err);

/* Runs --prompts. */
int run_streams(cli *cx, const run_options *o, stretto_error *err);

#endif
