/* SPDX-License-Identifier: MIT
 * Where a result comes from: what every record in JSON begins with, whichever command made it. */
#ifndef ST_REPORT_ORIGIN_H
#define ST_REPORT_ORIGIN_H

#include "base/host.h"

#include <time.h>

/* Nothing is owned. What is zero or NULL is left out of reports. */
typedef struct st_origin {
    const char *version;
    const st_host *host;
    int argc;
    char *const *argv;
    time_t when;          /* of the start; 0: left out, for reports that must not change */
    const uint64_t *seed; /* of all that was drawn at random */
    const double *others; /* CPUs that other programs kept busy while it was measured; -1: unknown. NULL: nothing was */
} st_origin;

#endif
