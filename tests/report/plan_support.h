/* SPDX-License-Identifier: MIT
 * A choice whose numbers are known. */
#ifndef TESTS_REPORT_PLAN_SUPPORT_H
#define TESTS_REPORT_PLAN_SUPPORT_H

#include "report/plan_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two units of one core and one of both; a chunk takes 1 ms on one core and 0.6 ms on both; 4 chunks. */
static inline void make(st_costs *costs, st_choice *choice, uint32_t streams, enum st_goal goal) {
    stretto_error err = {0};
    assert_int_equal(st_costs_create(costs, 4, 3, &err), STRETTO_OK);
    static const char *const names[] = {"cpu:0", "cpu:1", "cpu:0+1"};
    for (uint32_t u = 0; u < 3; u++) {
        st_cost_unit *unit = &costs->units[u];
        snprintf(unit->name, sizeof unit->name, "%s", names[u]);
        unit->n_cores = unit->n_threads = u < 2 ? 1 : 2;
        unit->cores[0] = (uint16_t)(u == 1);
        unit->cores[1] = 1;
        for (uint32_t c = 0; c < 4; c++)
            st_cost_curve_add(st_costs_curve(costs, c, u, ST_WORK_DECODE), 1, u < 2 ? 1e6 : 6e5);
    }
    for (uint32_t c = 0; c < 4; c++) {
        snprintf(costs->chunks[c].name, sizeof costs->chunks[c].name, "%u", c + 1);
        costs->chunks[c].weight_bytes = 1000000;
    }
    snprintf(costs->title, sizeof costs->title, "a model of four chunks");
    st_workload workload = {streams, 1, 11};
    assert_int_equal(st_choose(choice, costs, &workload, goal, 1, NULL, &err), STRETTO_OK);
}

#endif
