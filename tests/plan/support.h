/* SPDX-License-Identifier: MIT
 * What the planner's tests share: cost tables of known numbers. */
#ifndef TESTS_PLAN_SUPPORT_H
#define TESTS_PLAN_SUPPORT_H

#include "plan/cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* n_chunks chunks "1", "2", ... on n_units units "u0", "u1", ...; ns[n_chunks][n_units] of a decode of one token, and
 * that much more for each further token of a call (no gain from batching). */
static inline void table_make(st_costs *costs, uint32_t n_chunks, uint32_t n_units, const double *ns) {
    stretto_error err;
    assert_int_equal(st_costs_create(costs, n_chunks, n_units, &err), STRETTO_OK);
    for (uint32_t u = 0; u < n_units; u++) snprintf(costs->units[u].name, ST_PLAN_NAME, "u%u", u);
    for (uint32_t c = 0; c < n_chunks; c++) {
        snprintf(costs->chunks[c].name, ST_PLAN_NAME, "%u", c + 1);
        for (uint32_t u = 0; u < n_units; u++) {
            for (unsigned w = 0; w < ST_WORKS; w++)
                st_cost_curve_add(st_costs_curve(costs, c, u, w), 1, ns[c * n_units + u]);
        }
    }
}

/* Each unit beside each other one, whatever they do. */
static inline void table_slow(st_costs *costs, double slowdown) {
    for (uint32_t x = 0; x < costs->n_units; x++) {
        for (uint32_t y = 0; y < costs->n_units; y++) {
            for (unsigned w = 0; w < ST_WORKS; w++) {
                for (unsigned v = 0; v < ST_WORKS; v++) *st_cost_unit_slowdown(costs, x, w, y, v) = slowdown;
            }
        }
    }
}

/* A schedule of one stream with chunk c on unit place[c] of the table. */
static inline st_schedule schedule_make(enum st_schedule_kind kind, const st_costs *costs, const uint32_t *place) {
    st_schedule s = {.kind = kind, .n_chunks = costs->n_chunks, .streams = 1, .batch = 1, .micro_batch = 64};
    uint32_t of[ST_PLAN_UNITS_MAX];
    memset(of, 0xff, sizeof of);
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        uint32_t u = place[c];
        if (of[u] == UINT32_MAX) {
            of[u] = s.n_units;
            snprintf(s.units[s.n_units++], ST_PLAN_NAME, "%s", costs->units[u].name);
        }
        s.chunks[c].unit = of[u];
    }
    return s;
}

#endif
