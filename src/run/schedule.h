/* SPDX-License-Identifier: MIT
 * From a schedule, which is data, to what the streams engine is told. */
#ifndef ST_RUN_SCHEDULE_H
#define ST_RUN_SCHEDULE_H

#include "plan/schedule.h"
#include "run/streams.h"

/* What the stations of the options point to. */
typedef struct st_lineup {
    st_station_options stations[ST_STATIONS_MAX];
    st_unit *units[ST_STATIONS_MAX][ST_MAX_CHUNKS];
} st_lineup;

/* Fills in stations, streams, rows, depths and manners of options as the schedule says (drafts of a model are the
 * caller's to make); units[schedule->n_units] are
 * the schedule's, in its order. The lineup must outlive st_streams_open. STRETTO_E_INPUT when the schedule makes no
 * sense, has another number of chunks, or asks for what the engine cannot do. */
int st_schedule_lineup(const st_schedule *schedule, uint32_t n_chunks, st_unit *const *units, st_lineup *lineup,
                       st_streams_options *options, stretto_error *err);

/* The schedule's unit on which a station of that lineup has a chunk. */
uint32_t st_schedule_station_unit(const st_schedule *schedule, uint32_t station, uint32_t chunk);

#endif
