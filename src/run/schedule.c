/* SPDX-License-Identifier: MIT */
#include "run/schedule.h"

#include "base/error.h"
#include "base/min.h"

static void add_station(st_lineup *lineup, st_streams_options *o, bool reads, bool decodes) {
    uint32_t i = o->n_stations++;
    lineup->stations[i] = (st_station_options){.units = lineup->units[i], .reads = reads, .decodes = decodes};
}

/* A handover's first station only reads prompts. */
uint32_t st_schedule_station_unit(const st_schedule *s, uint32_t station, uint32_t chunk) {
    return st_schedule_unit(s, chunk, s->kind == ST_SCHEDULE_HANDOVER && station == 0, station);
}

/* Station i has its chunks where the schedule's chunks decode (or, when it only reads, read prompts). */
static void place_chunks(const st_schedule *s, st_unit *const *units, st_lineup *lineup, uint32_t n_stations) {
    for (uint32_t i = 0; i < n_stations; i++)
        for (uint32_t c = 0; c < s->n_chunks; c++) lineup->units[i][c] = units[st_schedule_station_unit(s, i, c)];
}

static void add_stations(const st_schedule *s, st_lineup *lineup, st_streams_options *o) {
    o->stations = lineup->stations;
    o->n_stations = 0;
    if (s->kind == ST_SCHEDULE_HANDOVER) {
        add_station(lineup, o, true, false);
        add_station(lineup, o, false, true);
        return;
    }
    uint32_t n = s->kind == ST_SCHEDULE_REPLICAS ? s->n_units : 1;
    for (uint32_t i = 0; i < n; i++) add_station(lineup, o, true, true);
}

/* Passes in flight: as many as the calls that the schedule has in flight, and one more of each where the next step is
 * submitted before the host has looked at this one. */
static void set_depths(const st_schedule *s, st_streams_options *o) {
    uint32_t calls = s->kind == ST_SCHEDULE_STAGED ? (s->streams + s->batch - 1) / s->batch : 1;
    o->prompt_depth = s->pipelined ? st_min_u32(st_schedule_stages(s) + 1, ST_PASS_MAX_AFTER) : 1;
    o->depth = st_min_u32(o->ahead ? 2 * calls : calls, ST_PASS_MAX_AFTER);
    if (o->depth < o->prompt_depth) o->depth = o->prompt_depth;
}

static int check(const st_schedule *s, uint32_t n_chunks, stretto_error *err) {
    const char *names[ST_PLAN_UNITS_MAX];
    for (uint32_t i = 0; i < s->n_units && i < ST_PLAN_UNITS_MAX; i++) names[i] = s->units[i];
    int code = st_schedule_check(s, err);
    if (!code) code = st_schedule_bind(s, n_chunks, names, s->n_units, NULL, err);
    if (code) return code;
    if (s->streams > ST_STREAMS_MAX)
        return st_fail(err, STRETTO_E_INPUT, "the schedule has %u streams; at most %d can be run", s->streams,
                       ST_STREAMS_MAX);
    return STRETTO_OK;
}

int st_schedule_lineup(const st_schedule *s, uint32_t n_chunks, st_unit *const *units, st_lineup *lineup,
                       st_streams_options *o, stretto_error *err) {
    int code = check(s, n_chunks, err);
    if (code) return code;
    add_stations(s, lineup, o);
    place_chunks(s, units, lineup, o->n_stations);
    o->n_streams = s->streams;
    o->rows = s->batch;
    o->prompt_rows = s->micro_batch;
    o->guesses = s->draft != ST_DRAFT_NONE ? st_min_u32(s->longest_draft, ST_LOOKUP_MAX) : 0;
    o->ahead = s->host_beside;
    o->mix = s->batch > 1;
    set_depths(s, o);
    return STRETTO_OK;
}
