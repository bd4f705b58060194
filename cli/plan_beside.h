/* SPDX-License-Identifier: MIT
 * The part of the measurement that needs two lanes at once: how much each slows the other, and the way from one to the
 * other. */
#ifndef CLI_PLAN_BESIDE_H
#define CLI_PLAN_BESIDE_H

#include "plan/cost.h"
#include "plan_rig.h"
#include "plan_samples.h"

typedef struct plan_beside {
    uint32_t unit[2];                /* lanes that share no core */
    plan_rig *rig[2];                /* theirs, */
    plan_texts *texts[2];            /* and the streams for each */
    uint32_t streams;                /* of the workload */
    uint32_t rows_most, tokens_most; /* of a batch and of a prompt's call that do not take too long */
    /* of the first's chunks and the second's, at work of each kind: the mean time of a call in a turn beside work of
     * each kind, and alone in the same turn. A batch has a unit's share of the streams, two rows at least, unless
     * rows_most is 1. */
    plan_samples together[2][ST_WORKS][ST_WORKS], alone[2][ST_WORKS][ST_WORKS];
    uint32_t turns;
    plan_samples way[2]; /* from a chunk's end there to the next one's start on the other */
} plan_beside;

void plan_beside_free(plan_beside *beside); /* what it owns */
int plan_beside_turn(plan_beside *beside, stretto_error *err);
/* Fills in slowdowns and transfers, means over turns; the units' dispatch_ns is there. */
void plan_beside_note(const plan_beside *beside, st_costs *costs);

#endif
