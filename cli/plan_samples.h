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
double plan_samples_median(const plan_samples *samples);                    /* 0 of none */
void plan_samples_free(plan_samples *samples);

#endif
