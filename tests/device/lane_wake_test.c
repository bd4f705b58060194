/* SPDX-License-Identifier: MIT
 * A waker that comes late for one sleep and wakes the next one for nothing must not make the lane deaf to the
 * submission after it. The late waker is played by hand: the second half of a signal whose first half the leader has
 * seen already. */
#include "device/lane.h"
#include "support/fixture.h"

#include <unistd.h>

static int nothing(void *arg, const st_worker *worker, stretto_error *err) {
    (void)arg;
    (void)worker;
    (void)err;
    return 0;
}

static void late_waker(void **state) {
    (void)state;
    fixture f = {0};
    stretto_error err = {0};
    fixture_check(st_host_read(&f.host, "", &err), &err);
    st_unit *unit = fixture_unit(&f, 0, 1);
    st_lane *lane = (st_lane *)unit;
    st_queue *queue = NULL;
    fixture_check(st_queue_open(unit, &queue, &err), &err);
    const st_step step = {.name = "nothing", .run = nothing};
    st_event event;
    st_event_init(&event);
    alarm(20); /* a lane that does not wake would hang here for ever */
    for (int round = 0; round < 200; round++) {
        st_unit_quiet(unit);
        st_bell_wake(&lane->bell);
        usleep(round % 2 ? 1000 : 0);
        fixture_check(st_run_step(queue, &step, &event, &err), &err);
    }
    alarm(0);
    st_queue_close(queue);
    fixture_close_units(&f);
    st_host_free(&f.host);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(late_waker)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
