/* SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "base/error.h"

/* On a worker of the library's: the caller's function does its share. */
static int run_user(void *arg, const st_worker *worker, stretto_error *err) {
    const stretto_step *user = arg;
    stretto_error unheard; /* the reasons of workers but the first */
    if (!user->run)
        return st_fail(err, STRETTO_E_USAGE, "step %s has no function to run: only a unit of your own can do without",
                       user->name ? user->name : "step");
    return user->run(user->arg, worker->id, worker->count, err ? err : &unheard);
}

st_step st_api_step(const stretto_step *user) {
    return (st_step){.name = user->name ? user->name : "step",
                     .run = run_user,
                     .arg = (void *)user, /* read only */
                     .bytes = user->bytes,
                     .operations = user->operations};
}

const stretto_step *st_api_step_user(const st_step *step) {
    return step->run == run_user ? step->arg : NULL;
}
