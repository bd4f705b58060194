/* SPDX-License-Identifier: MIT
 * The mock machine that the reports' tests probe, like two cores: a lane of both, two of one each, and a memory that
 * two at once exhaust. One arrangement of the three could not be measured. */
#ifndef TESTS_REPORT_MACHINE_H
#define TESTS_REPORT_MACHINE_H

#include "probe/rig.h"

#define MACHINE_BYTES_PER_NS 30 /* of its memory: two steps at once want 40 */

/* Ready for rig_run. options: what its memory can do, and the noise of its times; without noise numbers are known. */
static inline void machine_open(rig *r, st_mock_options options) {
    const st_mock_unit_options units[3] = {{.name = "cpu:0+1"}, {.name = "cpu:0"}, {.name = "cpu:1"}};
    rig_open(r, options, units, 3,
             (rig_pair){.a_ns = 900000, .b_ns = 1200000, .a_bytes = 18000000, .b_bytes = 24000000});
    r->jobs[0] = (st_probe_job){.arrangement = st_arrangement_find("one-unit", NULL), .side = {0, 1}, .chain = true};
    r->jobs[1] = (st_probe_job){
        .arrangement = st_arrangement_find("two-units", NULL), .side = {0, 1}, .unit = {1, 2}, .chain = true};
    r->jobs[2] = (st_probe_job){.arrangement = st_arrangement_find("threads", NULL),
                                .side = {0, 1},
                                .chain = true,
                                .skip = "one core is allowed here"};
    r->setup.n_jobs = 3;
}

#endif
