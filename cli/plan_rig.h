/* SPDX-License-Identifier: MIT
 * Calls that are timed one at a time: a model on one lane, and streams with a context as long as the workload's, so
 * that each row of a call attends to its own stream's keys and values as it does in a run. */
#ifndef CLI_PLAN_RIG_H
#define CLI_PLAN_RIG_H

#include "device/pass.h"
#include "plan/simulate.h"
#include "session.h"

#define PLAN_ROWS_MAX 64    /* of a decoding call that is measured */
#define PLAN_TOKENS_MAX 256 /* of a prompt's call */
#define PLAN_TEXTS_MAX 8    /* streams that share a call; more rows are more rows of these */

/* Streams that calls are made of. Decoders stand after a prompt and half of what is to follow. Readers stand in the
 * middle of theirs: calls read the middle of a prompt again and again, `span` tokens at most. */
typedef struct plan_texts {
    st_stream *decoders[PLAN_TEXTS_MAX], *readers[PLAN_TEXTS_MAX];
    uint32_t n_decoders, n_readers;
    uint32_t depth;      /* positions of a decoder */
    uint32_t from, span; /* of each reader */
    uint64_t bytes;      /* of keys and values */
} plan_texts;

typedef struct plan_rig {
    session *s;
    st_unit *unit;
    st_placement *placement;
    st_pass *pass;
    uint64_t ended_ns; /* of the last call's last chunk; 0: nothing ran just before */
    double gap_ns;     /* from the end of the call before to the start of the last one */
    double between_ns; /* what the last call took besides its chunks, once it had started */
} plan_rig;

/* rows: of the largest call. STRETTO_E_MEMORY; what a unit says. Close it after failures, too; zeroed memory is fine.
 */
int plan_rig_open(plan_rig *rig, session *s, st_unit *unit, uint32_t rows, stretto_error *err);
void plan_rig_close(plan_rig *rig);

/* Opens the streams of a workload, with contexts that nothing has read, for a rig's placement; they can be used by rigs
 * of the same session, one at a time. There are fewer streams than the workload has where the machine could not hold
 * the weights and two of it; STRETTO_E_MEMORY where not even one of each kind. Close it after failures, too. */
int plan_texts_open(plan_texts *texts, plan_rig *rig, const st_workload *workload, stretto_error *err);
void plan_texts_close(plan_texts *texts);
/* The most tokens of prompts that share a call. */
uint32_t plan_texts_prompt(const plan_texts *texts);

/* A call of decoding rows, with their logits or without; and one of so many tokens of prompts, without. */
int plan_rig_decode(plan_rig *rig, plan_texts *texts, uint32_t rows, bool logits, stretto_error *err);
int plan_rig_read(plan_rig *rig, plan_texts *texts, uint32_t tokens, stretto_error *err);

double plan_rig_ns(const plan_rig *rig, uint32_t chunk); /* of the last call */
void plan_rig_quiet(plan_rig *rig);                      /* its workers sleep */

#endif
