/* SPDX-License-Identifier: MIT */
#include "base/share.h"

#include "base/error.h"
#include "base/mem.h"

/* A run moves a share by this part of the way, so that a core that was taken away for a moment does not count for
 * much; some tens of runs follow a lasting change. */
#define GAIN (1.0 / 16)
#define MOST_CHANGE 0.25      /* of a share that one run may ask for */
#define LEAST_BUSY (1.0 / 16) /* of the run, for a worker that hardly had anything to do */

int st_shares_create(st_shares *shares, unsigned count, stretto_error *err) {
    *shares = (st_shares){.count = count, .of = st_alloc(count, sizeof *shares->of)};
    if (!shares->of) return st_fail_memory(err, "shares of a team", count * sizeof *shares->of);
    for (unsigned id = 0; id < count; id++)
        for (unsigned bound = 0; bound < ST_BOUNDS; bound++) shares->of[id].size[bound] = 1.0 / count;
    return STRETTO_OK;
}

void st_shares_destroy(st_shares *shares) {
    st_free(shares->of);
    *shares = (st_shares){0};
}

/* Of the whole work, in the time of one run. */
static double share_speed(const st_team_share *share, enum st_bound bound, uint64_t run_ns) {
    double busy = 1.0 - (double)share->waited_ns / (double)run_ns;
    return share->size[bound] / (busy > LEAST_BUSY ? busy : LEAST_BUSY);
}

static double share_moved(double size, double target) {
    double change = target - size, most = MOST_CHANGE * size;
    return size + GAIN * (change > most ? most : change < -most ? -most : change);
}

static void shares_move(st_shares *shares, uint64_t run_ns) {
    const enum st_bound bound = shares->bound;
    double speed = 0.0, all = 0.0;
    for (unsigned id = 0; id < shares->count; id++) speed += share_speed(&shares->of[id], bound, run_ns);
    for (unsigned id = 0; id < shares->count; id++) {
        st_team_share *share = &shares->of[id];
        share->size[bound] = share_moved(share->size[bound], share_speed(share, bound, run_ns) / speed);
        all += share->size[bound];
    }
    for (unsigned id = 0; id < shares->count; id++) shares->of[id].size[bound] /= all;
}

void st_shares_settle(st_shares *shares, uint64_t run_ns) {
    if (shares->used && run_ns > 0) shares_move(shares, run_ns);
    for (unsigned id = 0; id < shares->count; id++) shares->of[id].waited_ns = 0;
    shares->used = false;
}
