/* SPDX-License-Identifier: MIT
 * Running the schedules of a plan, so that what was predicted stands beside what was measured. */
#ifndef CLI_PLAN_CHECK_H
#define CLI_PLAN_CHECK_H

#include "plan/choose.h"
#include "plan_measure.h"

/* Runs each possible schedule `rounds` times, in turns, on the session's units, with the choice's workload, and fills
 * in `measured` of its rows with means, and with what ran when in the last round. 0 rounds: as many as it takes until
 * plan_rounds_enough, or five minutes are over. What cannot be run says why. The meter of the same session takes a turn
 * after every sixth run: a machine that changes its speed meanwhile does so for what is predicted (st_choose_again) as
 * for what is measured. STRETTO_E_STOPPED on request, with the rows of complete rounds; what a unit says. */
int plan_check(st_choice *choice, const st_costs *costs, session *s, plan_meter *meter, uint32_t rounds,
               stretto_error *err);

#endif
