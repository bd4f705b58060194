/* SPDX-License-Identifier: MIT
 * A decision that went well, and its rows. */
#ifndef TESTS_PLAN_CHOOSING_H
#define TESTS_PLAN_CHOOSING_H

#include "plan/choose.h"
#include "support.h"

static inline st_choice choose(const st_costs *costs, st_workload workload, enum st_goal goal) {
    st_choice out;
    stretto_error err = {0};
    if (st_choose(&out, costs, &workload, goal, 1, NULL, &err)) fail_msg("%s", err.text);
    for (size_t i = 1; i < out.n_possible; i++) assert_true(out.rows[i - 1].score <= out.rows[i].score);
    for (size_t i = out.n_possible; i < out.n_rows; i++) assert_true(out.rows[i].why[0] != '\0');
    return out;
}

static inline const st_choice_row *row_named(const st_choice *choice, const char *title) {
    for (size_t i = 0; i < choice->n_rows; i++) {
        if (strncmp(choice->rows[i].title, title, strlen(title)) == 0) return &choice->rows[i];
    }
    fail_msg("no row %s", title);
    return NULL;
}

#endif
