/* SPDX-License-Identifier: MIT
 * Schedules worth simulating, made from a cost table: who runs where. All fill *out, whose units get the table's names.
 */
#ifndef ST_PLAN_CANDIDATES_H
#define ST_PLAN_CANDIDATES_H

#include "plan/cost.h"

/* All chunks on one unit, one stream after the other: serial, or threads where the unit has several. */
void st_candidate_one(st_schedule *out, const st_costs *costs, uint32_t unit);

/* All chunks on one unit, all streams in one call. */
void st_candidate_batched(st_schedule *out, const st_costs *costs, uint32_t unit, uint32_t streams);

/* What one call is. */
typedef struct st_candidate_call {
    enum st_work work;
    uint32_t tokens;
} st_candidate_call;

/* Positions of KV for which there has to be room beside the weights: no matter how much memory units have. */
#define ST_CANDIDATE_ANY_ROOM UINT64_MAX

/* Neighbouring chunks on each of units[n] in this order, so that the longest stage of a call is as short as can be, and
 * of such cuts all stages together are (dynamic programming over the places of the cuts); placed, one stream. No unit
 * is given more than the memory that it uses has room for, with KV of so many positions; what units of one memory need
 * together is not looked at. False when there are fewer chunks than units, or no cuts give each chunk to a unit that
 * can run it. */
bool st_candidate_split(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                        st_candidate_call call, uint64_t positions);

/* The same with the units in whatever order makes that stage shortest; of more than so many the given order and its
 * reverse are tried, as where memory is out. Where several are as good, the given order. */
#define ST_CANDIDATE_ORDERED 5
bool st_candidate_cut(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                      st_candidate_call call, uint64_t positions);

/* Each chunk on that of units[n] with which one such call, from chunk to chunk with the way between units, is over
 * soonest (dynamic programming over the chunks); placed, one stream. Some of the units may have nothing to do. False
 * when that is all on one unit or hardly quicker than there, or when a chunk runs on none of them. */
bool st_candidate_chain(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                        st_candidate_call call);

/* Makes a schedule of a cut or a chain one of several streams in flight, so many in a call. */
void st_candidate_stage(st_schedule *schedule, uint32_t streams, uint32_t batch);

/* The whole model on each of units[n], with each unit's streams in one call. */
void st_candidate_replicas(st_schedule *out, const st_costs *costs, const uint32_t *units, uint32_t n,
                           uint32_t streams);

/* Prompts on one unit, decode on another, all streams in one call. */
void st_candidate_handover(st_schedule *out, const st_costs *costs, uint32_t prompts, uint32_t unit, uint32_t streams);

/* Appends "token, 1, 2, 3, 4, token": the steps of one stream, each of which needs the one before. */
void st_chain_text(st_buf *out, const st_costs *costs);

#endif
