/* SPDX-License-Identifier: MIT
 * What the streams engine is told for each kind of schedule. Units are never used, so their addresses do. */
#include "run/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static st_unit lanes[3];
static st_unit *const units[3] = {&lanes[0], &lanes[1], &lanes[2]};

/* Four chunks on the units that `places` has as digits. */
static st_schedule schedule(enum st_schedule_kind kind, const char *places, uint32_t n_units, uint32_t streams,
                            uint32_t batch) {
    st_schedule s = {
        .kind = kind, .n_chunks = 4, .n_units = n_units, .streams = streams, .batch = batch, .micro_batch = 64};
    for (uint32_t c = 0; c < 4; c++) s.chunks[c].unit = (uint32_t)(places[c] - '0');
    for (uint32_t u = 0; u < n_units; u++) snprintf(s.units[u], sizeof s.units[u], "cpu:%u", u);
    return s;
}

static st_streams_options lineup(const st_schedule *s, st_lineup *l) {
    st_streams_options o = {.n_ctx = 100};
    stretto_error err = {0};
    if (st_schedule_lineup(s, 4, units, l, &o, &err)) fail_msg("%s", err.text);
    assert_int_equal(o.n_ctx, 100); /* what is not the schedule's stays */
    assert_ptr_equal(o.stations, l->stations);
    return o;
}

static void station_is(const st_streams_options *o, uint32_t i, const char *places, bool reads, bool decodes) {
    assert_true(i < o->n_stations);
    assert_int_equal(o->stations[i].reads, reads);
    assert_int_equal(o->stations[i].decodes, decodes);
    for (uint32_t c = 0; c < 4; c++) assert_ptr_equal(o->stations[i].units[c], units[places[c] - '0']);
}

static void one_station(void **state) {
    (void)state;
    st_lineup l;
    st_schedule s = schedule(ST_SCHEDULE_THREADS, "0000", 1, 1, 1);
    st_streams_options o = lineup(&s, &l);
    assert_int_equal(o.n_stations, 1);
    station_is(&o, 0, "0000", true, true);
    assert_true(o.n_streams == 1 && o.rows == 1 && o.depth == 1 && o.prompt_depth == 1 && o.prompt_rows == 64);
    assert_false(o.mix || o.ahead || o.guesses);
    s = schedule(ST_SCHEDULE_BATCHED, "0000", 1, 8, 8);
    s.host_beside = true;
    o = lineup(&s, &l);
    assert_true(o.n_streams == 8 && o.rows == 8 && o.depth == 2 && o.mix && o.ahead);
    s = schedule(ST_SCHEDULE_PLACED, "0112", 3, 1, 1);
    s.pipelined = true;
    o = lineup(&s, &l);
    station_is(&o, 0, "0112", true, true);
    assert_true(o.prompt_depth == 4 && o.depth == 4 && o.n_streams == 1);
}

static void several_in_flight(void **state) {
    (void)state;
    st_lineup l;
    st_schedule s = schedule(ST_SCHEDULE_STAGED, "0011", 2, 5, 2);
    st_streams_options o = lineup(&s, &l);
    station_is(&o, 0, "0011", true, true);
    assert_true(o.n_streams == 5 && o.rows == 2 && o.depth == 3 && o.mix);
    s.host_beside = true;
    assert_int_equal(lineup(&s, &l).depth, 6);
    s = schedule(ST_SCHEDULE_STAGED, "0011", 2, 200, 1);
    assert_int_equal(lineup(&s, &l).depth, ST_PASS_MAX_AFTER);
    s = schedule(ST_SCHEDULE_STAGED, "0011", 2, 3, 1);
    s.draft = ST_DRAFT_LOOKUP;
    s.longest_draft = 40;
    o = lineup(&s, &l);
    assert_true(o.guesses == ST_LOOKUP_MAX && !o.ahead && !o.mix && o.rows == 1);
}

static void several_stations(void **state) {
    (void)state;
    st_lineup l;
    st_schedule s = schedule(ST_SCHEDULE_HANDOVER, "1111", 2, 4, 4);
    s.prompt_unit = 0;
    st_streams_options o = lineup(&s, &l);
    assert_int_equal(o.n_stations, 2);
    station_is(&o, 0, "0000", true, false);
    station_is(&o, 1, "1111", false, true);
    s = schedule(ST_SCHEDULE_REPLICAS, "0000", 3, 6, 2);
    o = lineup(&s, &l);
    assert_int_equal(o.n_stations, 3);
    station_is(&o, 0, "0000", true, true);
    station_is(&o, 2, "2222", true, true);
}

static void refused(const st_schedule *s, uint32_t n_chunks, const char *says) {
    st_lineup l;
    st_streams_options o = {0};
    stretto_error err = {0};
    assert_int_equal(st_schedule_lineup(s, n_chunks, units, &l, &o, &err), STRETTO_E_INPUT);
    if (!strstr(err.text, says)) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void what_cannot_be_run(void **state) {
    (void)state;
    st_schedule s = schedule(ST_SCHEDULE_THREADS, "0000", 1, 1, 1);
    refused(&s, 5, "chunk 5 is missing");
    refused(&s, 3, "no chunk 4");
    s.streams = 2;
    refused(&s, 4, "one stream");
    s = schedule(ST_SCHEDULE_BATCHED, "0000", 1, 300, 300);
    refused(&s, 4, "300 streams");
    s = schedule(ST_SCHEDULE_THREADS, "0000", 2, 1, 1);
    s.draft = ST_DRAFT_MODEL;
    s.longest_draft = 4;
    refused(&s, 4, "a unit of its own");
    s = schedule(ST_SCHEDULE_SERIAL, "0000", 1, 1, 1);
    s.draft = ST_DRAFT_LOOKUP;
    s.longest_draft = 4;
    s.host_beside = true;
    refused(&s, 4, "\"host_beside\" with \"speculation\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_station),
        cmocka_unit_test(several_in_flight),
        cmocka_unit_test(several_stations),
        cmocka_unit_test(what_cannot_be_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
