/* SPDX-License-Identifier: MIT
 * Work stealing, for work that is cut into items: each worker has a part of its own, of which it takes some items at
 * a time, in order; who is through with its own takes what is left of the others'. So a core that is slower, for good
 * or for a moment, holds the others up for the items only that it has taken last. Who computes an item must not change
 * it. Between two syncs of the team there is at most one job. */
#ifndef ST_BASE_DEAL_H
#define ST_BASE_DEAL_H

#include "base/team.h"

/* Begins a job, of which n items are the worker's own part; every worker of the team, once a job, before it takes
 * anything. Here and below the worker has hands: it is one of several of a pool. */
void st_deal_begin(const st_worker *worker, uint32_t n);

/* Whether something may be left of worker `whose`'s part: asked before finding out what that part is. */
bool st_deal_left(const st_worker *worker, unsigned whose);

/* Takes items [*lo, *hi) of worker `whose`'s part, which has n; false: none are left. A worker takes a slice of what is
 * left of its own, and one of another's. */
bool st_deal_take(const st_worker *worker, unsigned whose, uint32_t n, uint32_t *lo, uint32_t *hi);

#endif
