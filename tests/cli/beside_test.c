/* SPDX-License-Identifier: MIT
 * How much two lanes slow each other, from lanes whose steps are known: a decode is 6 ticks alone, a prompt's part 40,
 * and every tick does half as much while the other lane is at work. */
#include "plan_beside.h"

#include "plan/simulate.h"
#include "support/fixture.h"

#include <math.h>
#include <time.h>

#define TICK_NS 500000
#define LATE_NS 20000000

static atomic_bool at_work[2];
static plan_rig rigs[2];
static unsigned ticks[2];  /* of the last step */
static atomic_uint reads;  /* so far, by both */
static unsigned last_read; /* which fails; 0: none */
static unsigned stop_read; /* in which all is asked to stop; 0: none */
static atomic_bool stop;
static bool second_late; /* the second lane begins LATE_NS after it was started */

static int take(const plan_rig *rig, unsigned alone) {
    unsigned own = rig == &rigs[1];
    struct timespec tick = {.tv_nsec = TICK_NS};
    if (second_late && own == 1 && !atomic_load(&at_work[1])) nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
    atomic_store(&at_work[own], true);
    ticks[own] = 0;
    for (unsigned half = 0; half < 2 * alone; half += atomic_load(&at_work[1 - own]) ? 1 : 2, ticks[own]++)
        nanosleep(&tick, NULL);
    return STRETTO_OK;
}

/* ---- what plan_beside.c works with ---- */

int plan_rig_decode(plan_rig *rig, plan_texts *texts, uint32_t rows, bool logits, stretto_error *err) {
    (void)texts, (void)rows, (void)logits, (void)err;
    return take(rig, 6);
}

int plan_rig_read(plan_rig *rig, plan_texts *texts, uint32_t tokens, stretto_error *err) {
    (void)texts, (void)tokens;
    const unsigned number = atomic_fetch_add(&reads, 1) + 1;
    if (number == stop_read) atomic_store(&stop, true);
    if (number == last_read) {
        snprintf(err->text, sizeof err->text, "no more");
        return STRETTO_E_UNIT;
    }
    return take(rig, 40);
}

double plan_rig_ns(const plan_rig *rig, uint32_t chunk) {
    (void)chunk;
    return 1000.0 * ticks[rig == &rigs[1]];
}

void plan_rig_quiet(plan_rig *rig) {
    atomic_store(&at_work[rig == &rigs[1]], false);
}

uint32_t plan_texts_prompt(const plan_texts *texts) {
    (void)texts;
    return 256;
}

enum st_kv_type session_kv_type(const session *s) {
    (void)s;
    return ST_KV_F16;
}

void cli_progress(cli *cx, const char *fmt, ...) {
    (void)cx, (void)fmt;
}

/* ---- */

static cli cx = {.stop = &stop};
static session one_chunk = {.cx = &cx, .n_chunks = 1}; /* so that there is no way from lane to lane */

static plan_beside make_pair(void) {
    static plan_texts texts;
    for (unsigned i = 0; i < 2; i++) rigs[i] = (plan_rig){.s = &one_chunk};
    return (plan_beside){.unit = {0, 1},
                         .rig = {&rigs[0], &rigs[1]},
                         .texts = {&texts, &texts},
                         .streams = 4,
                         .rows_most = 8,
                         .tokens_most = 256};
}

static void check_slowdowns(void) {
    stretto_error err = {0};
    st_costs costs;
    plan_beside pair = make_pair();
    fixture_check(st_costs_create(&costs, 1, 2, &err), &err);
    for (unsigned i = 0; i < 3; i++) fixture_check(plan_beside_turn(&pair, &err), &err);
    plan_beside_note(&pair, &costs);
    for (unsigned i = 0; i < 2 * ST_WORKS * ST_WORKS; i++) {
        enum st_work own = i / 2 / ST_WORKS, other = i / 2 % ST_WORKS;
        double slowdown = *st_cost_unit_slowdown(&costs, i % 2, own, 1 - i % 2, other);
        if (!(fabs(slowdown - 2) < 0.1))
            fail_msg("%s beside %s: %g", st_work_names[own], st_work_names[other], slowdown);
    }
    plan_beside_free(&pair);
    st_costs_free(&costs);
}

static void only_what_ran_beside_counts(void **state) {
    (void)state;
    check_slowdowns();
}

/* As on a busy machine: the first lane has done several steps when the second one comes. */
static void a_lane_that_begins_late_does_not_count_before(void **state) {
    (void)state;
    second_late = true;
    check_slowdowns();
    second_late = false;
}

static void a_lane_that_fails_ends_both(void **state) {
    (void)state;
    stretto_error err = {0};
    plan_beside pair = make_pair();
    int code = STRETTO_OK;
    last_read = atomic_load(&reads) + 30;
    for (unsigned i = 0; i < 99 && !code; i++) code = plan_beside_turn(&pair, &err);
    assert_int_equal(code, STRETTO_E_UNIT);
    assert_non_null(strstr(err.text, "no more"));
    plan_beside_free(&pair);
}

/* Steps of a large model take seconds: the one that a lane is in is its last. */
static void a_wish_to_stop_is_heard_alone_and_beside(void **state) {
    (void)state;
    last_read = 0;
    for (unsigned late = 1; late <= 25; late += 24) {
        stretto_error err = {0};
        plan_beside pair = make_pair();
        int code = STRETTO_OK;
        atomic_store(&reads, 0);
        stop_read = late;
        for (unsigned i = 0; i < 99 && !code; i++) code = plan_beside_turn(&pair, &err);
        assert_int_equal(code, STRETTO_E_STOPPED);
        assert_in_range(atomic_load(&reads), late, late + 2);
        assert_int_equal(plan_beside_turn(&pair, &err), STRETTO_E_STOPPED);
        assert_in_range(atomic_load(&reads), late, late + 2);
        atomic_store(&stop, false);
        plan_beside_free(&pair);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_ran_beside_counts), cmocka_unit_test(a_lane_that_begins_late_does_not_count_before),
        cmocka_unit_test(a_lane_that_fails_ends_both), cmocka_unit_test(a_wish_to_stop_is_heard_alone_and_beside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
