/* SPDX-License-Identifier: MIT
 * A pair of steps on a mock machine, ready for st_probe_run. Side a is "1", side b is "3", as in the spike. */
#ifndef TESTS_PROBE_RIG_H
#define TESTS_PROBE_RIG_H

#include "probe/probe.h"
#include "unit/mock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RIG_UNITS 4
#define RIG_JOBS 4
#define MS 1000000u

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

typedef struct rig {
    st_mock_machine *machine;
    st_unit *units[RIG_UNITS];
    st_mock_work work[2];
    st_step step[2];
    const st_step *steps[2][RIG_UNITS];
    st_probe_side sides[2];
    st_mock_work control_work[ST_CONTROL_COUNT];
    st_step control[ST_CONTROL_COUNT];
    const st_step *control_steps[ST_CONTROL_COUNT][RIG_UNITS];
    st_probe_side controls[ST_CONTROL_COUNT];
    st_probe_job jobs[RIG_JOBS];
    st_probe_setup setup;
    st_probe_record record;
    stretto_error err;
    int code;
} rig;

typedef struct rig_pair {
    uint64_t a_ns, b_ns;
    uint64_t a_bytes, b_bytes;
} rig_pair;

/* Opens the units, and one job: one-unit when there is one unit, else two-units on the first two. */
static inline void rig_open(rig *r, st_mock_options machine, const st_mock_unit_options *units, unsigned n_units,
                            rig_pair pair) {
    memset(r, 0, sizeof *r);
    assert_int_equal(st_mock_machine_create(&r->machine, &machine, NULL), 0);
    for (unsigned i = 0; i < n_units; i++) assert_int_equal(st_mock_open(&r->units[i], r->machine, &units[i], NULL), 0);
    r->work[0].ns = pair.a_ns;
    r->work[1].ns = pair.b_ns;
    r->step[0] = st_mock_step("chunk 1", &r->work[0], pair.a_bytes);
    r->step[1] = st_mock_step("chunk 3", &r->work[1], pair.b_bytes);
    for (unsigned side = 0; side < 2; side++) {
        for (unsigned i = 0; i < n_units; i++) r->steps[side][i] = &r->step[side];
        r->sides[side] = (st_probe_side){.name = side ? "3" : "1", .steps = r->steps[side]};
    }
    r->jobs[0] = (st_probe_job){.arrangement = st_arrangement_find(n_units == 1 ? "one-unit" : "two-units", NULL),
                                .side = {0, 1},
                                .unit = {0, n_units == 1 ? 0 : 1},
                                .chain = true};
    r->setup = (st_probe_setup){.title = "a mock",
                                .sides = r->sides,
                                .n_sides = 2,
                                .units = r->units,
                                .n_units = n_units,
                                .jobs = r->jobs,
                                .n_jobs = 1,
                                .clock = st_mock_clock(r->machine),
                                .virtual_time = true,
                                .seed = 1};
}

/* Gives every unit steps of known nature: arithmetic, reads at bytes_per_ns, and 3 additions a nanosecond. */
static inline void rig_controls(rig *r, double bytes_per_ns) {
    static const char *const names[ST_CONTROL_COUNT] = {"compute", "stream", "clock"};
    for (unsigned c = 0; c < ST_CONTROL_COUNT; c++) {
        r->control_work[c].ns = MS;
        uint64_t bytes = c == ST_CONTROL_BANDWIDTH ? (uint64_t)(bytes_per_ns * MS) : 0;
        r->control[c] = st_mock_step(names[c], &r->control_work[c], bytes);
        if (c != ST_CONTROL_BANDWIDTH) r->control[c].operations = 3 * MS;
        for (unsigned i = 0; i < r->setup.n_units; i++) r->control_steps[c][i] = &r->control[c];
        r->controls[c] = (st_probe_side){.name = names[c], .steps = r->control_steps[c]};
    }
    r->setup.controls = r->controls;
}

static inline void rig_evict(void *machine, const st_probe_job *job) {
    (void)job;
    st_mock_chill(machine);
}

/* Caches are cold before each arm. */
static inline void rig_chill(rig *r) {
    r->setup.evict = rig_evict;
    r->setup.evict_arg = r->machine;
}

/* The steps read for this share of their time, in many turns; those of one fall anywhere in those of the other. */
static inline void rig_read_in_turns(rig *r, double share) {
    for (int i = 0; i < 2; i++) {
        r->work[i].phases = i ? 53 : 37;
        r->work[i].reading = share;
    }
}

static inline st_probe_row *rig_run(rig *r) {
    r->code = st_probe_run(&r->setup, &r->record, &r->err);
    return &r->record.rows[0];
}

static inline void rig_close(rig *r) {
    st_probe_record_free(&r->record);
    for (unsigned i = 0; i < RIG_UNITS; i++) st_unit_close(r->units[i]);
    st_mock_machine_destroy(r->machine);
}

#endif
