/* SPDX-License-Identifier: MIT
 * The units that --units, --place and --threads ask for, as open CPU lanes. */
#ifndef CLI_LANES_H
#define CLI_LANES_H

#include "cli.h"
#include "device/cpu.h"

#include <stdint.h>

#define CLI_LANES_MAX 64
#define CLI_PLACES_MAX 256

typedef struct cli_place {
    uint32_t first, last; /* chunks as people count them, from 1 */
    unsigned lane;
} cli_place;

typedef struct cli_lanes {
    st_host host;
    unsigned n;
    st_unit *units[CLI_LANES_MAX];
    char names[CLI_LANES_MAX][48];
    cli_place places[CLI_PLACES_MAX]; /* no chunk in two */
    unsigned n_places;
    unsigned other; /* lane of the chunks that are not placed */
} cli_lanes;

/* Reads the machine and opens a lane for each core set of --units ("cpu:0,cpu:1+2") and of --place
 * ("1=cpu:0,3-4=cpu:1"), each once, and without --units one lane of all cores, the last. threads: of each lane, 0 = one
 * a core. On failure everything is closed again. STRETTO_E_USAGE with the part that is wrong. *lanes must stay where it
 * is. */
int cli_lanes_open(cli_lanes *lanes, const char *units, const char *place, uint32_t threads, const st_log *log,
                   stretto_error *err);
/* The same with --units alone, of which each has its own number of threads, 0 = one a core: threads[units of the list].
 */
int cli_lanes_open_each(cli_lanes *lanes, const char *units, const uint32_t *threads, const st_log *log,
                        stretto_error *err);
/* The halves of all cores as two more lanes, where there are two cores and the quota allows them; none is added
 * otherwise. STRETTO_E_USAGE when there are too many by then; what st_cpu_open says. */
int cli_lanes_add_halves(cli_lanes *lanes, const st_log *log, stretto_error *err);
/* Closes all lanes, calls fn, and opens them again as they were, with other pointers: for what must not happen while
 * threads are about. infos: [lanes->n]. When it fails there are no lanes. */
int cli_lanes_pause(cli_lanes *lanes, int (*fn)(void *arg, const st_unit_info *infos, stretto_error *err), void *arg,
                    stretto_error *err);
void cli_lanes_close(cli_lanes *lanes); /* also of zeroed memory */

/* Lane of each of n_chunks chunks: `other` unless placed. Warns of lanes that have no chunk when `log` is given.
 * STRETTO_E_USAGE when a place names a chunk that is not there. */
int cli_lanes_assign(const cli_lanes *lanes, uint32_t n_chunks, st_unit **unit_of, const st_log *log,
                     stretto_error *err);

#endif
