/* SPDX-License-Identifier: MIT
 * The part of plan_measure that needs two lanes at once: how much each slows the other, and the way from one to the
 * other. */
#ifndef CLI_PLAN_BESIDE_H
#define CLI_PLAN_BESIDE_H

#include "plan_measure.h"

/* Fills in slowdowns and transfers of all pairs of lanes that share no core. */
int plan_measure_beside(st_costs *costs, session *s, const plan_measure_options *options, stretto_error *err);

/* A chain of the session's chunks on units[n_chunks], with room for `depth` tokens and a prompt's micro-batch. */
int plan_open_chain(session *s, uint32_t depth, st_unit *const *units, st_chain **out, stretto_error *err);

#endif
