/* SPDX-License-Identifier: MIT */
#include "probe/arrangement.h"

#include "base/buf.h"
#include "base/error.h"

#include <string.h>

#define BATCH(tokens)                                                                                                  \
    {                                                                                                                  \
        .name = "batch-" #tokens, .title = "one call of " #tokens,                                                     \
        .about = "one call of " #tokens " tokens against " #tokens " single calls", .n_units = 1,                      \
        .submit = ST_SUBMIT_ONE_THREAD, .k = tokens                                                                    \
    }

static const st_arrangement arrangements[] = {
    {.name = "one-unit",
     .title = "one unit",
     .about = "two queues of one unit, a submitting thread for each",
     .n_units = 1,
     .submit = ST_SUBMIT_TWO_THREADS},
    {.name = "two-units",
     .title = "two units",
     .about = "a unit for each side, a submitting thread for each",
     .n_units = 2,
     .submit = ST_SUBMIT_TWO_THREADS},
    {.name = "async",
     .title = "one thread",
     .about = "one thread submits both without waiting in between, then waits for both",
     .n_units = 0,
     .submit = ST_SUBMIT_ONE_THREAD},
    {.name = "threads",
     .title = "two threads",
     .about = "two threads, each with a queue of its own, on whichever units the sides have",
     .n_units = 0,
     .submit = ST_SUBMIT_TWO_THREADS},
    {.name = "processes",
     .title = "two processes",
     .about = "a unit for each side, the second in a process of its own that maps the same weights",
     .n_units = 2,
     .submit = ST_SUBMIT_TWO_THREADS,
     .processes = true},
    BATCH(2),
    BATCH(4),
    BATCH(8),
};
#define N_ARRANGEMENTS (sizeof arrangements / sizeof *arrangements)

const char *st_arm_name(enum st_arm arm) {
    static const char *const names[ST_ARM_COUNT] = {
        [ST_ARM_SOLO_A] = "solo_a",     [ST_ARM_SOLO_B] = "solo_b", [ST_ARM_SERIAL] = "serial",
        [ST_ARM_PARALLEL] = "parallel", [ST_ARM_QUEUED] = "queued", [ST_ARM_BATCHED] = "batched",
    };
    return names[arm];
}

const st_arrangement *st_arrangements(size_t *count) {
    *count = N_ARRANGEMENTS;
    return arrangements;
}

const st_arrangement *st_arrangement_find(const char *name, stretto_error *err) {
    st_buf names = {0};
    for (size_t i = 0; i < N_ARRANGEMENTS; i++) {
        if (strcmp(arrangements[i].name, name) == 0) {
            st_buf_free(&names);
            return &arrangements[i];
        }
        st_buf_printf(&names, "%s%s", i ? ", " : "", arrangements[i].name);
    }
    st_fail(err, STRETTO_E_USAGE, "no arrangement %s: there are %s", name, names.failed ? "others" : names.data);
    st_buf_free(&names);
    return NULL;
}

unsigned st_pair_arms(bool one_unit) {
    unsigned arms = 1u << ST_ARM_SOLO_A | 1u << ST_ARM_SOLO_B | 1u << ST_ARM_SERIAL | 1u << ST_ARM_PARALLEL;
    return one_unit ? arms | 1u << ST_ARM_QUEUED : arms;
}

unsigned st_batch_arms(void) {
    return 1u << ST_ARM_SOLO_A | 1u << ST_ARM_SERIAL | 1u << ST_ARM_BATCHED;
}
