/* SPDX-License-Identifier: MIT
 * Times that are collected over many turns. */
#ifndef CLI_PLAN_SAMPLES_H
#define CLI_PLAN_SAMPLES_H

#include "stretto/error.h"

#include <stdint.h>

typedef struct plan_samples {
    double *ns; /* [n] owned */
    uint32_t n, cap;
} plan_samples;

int plan_samples_add(plan_samples *samples, double ns, stretto_error *err); /* STRETTO_E_MEMORY */
/* st_mean_unstalled: a run takes the sum of slow and fast spells, so the table has to. 0 of none. */
double plan_samples_mean(const plan_samples *samples);
void plan_samples_free(plan_samples *samples);

#endif
