/* SPDX-License-Identifier: MIT
 * How a team shares out work that is cut by rows: in equal parts at first, then by how fast each worker was. Cores are
 * not alike (small and large ones of one processor; a guest's, of which one has a busy neighbour), and with equal parts
 * a team is as slow as its slowest. Who computes a row never changes it, so the shares may change at any time between
 * two runs; during a run they stand still. */
#ifndef ST_BASE_SHARE_H
#define ST_BASE_SHARE_H

#include "stretto/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What bounds the work: cores that differ in arithmetic may be alike in what they draw from memory. All work of a run
 * is of one kind. */
enum st_bound {
    ST_BOUND_MEMORY,     /* products with one row: memory */
    ST_BOUND_ARITHMETIC, /* with many: arithmetic */
    ST_BOUNDS
};

/* Of one worker, on a cache line of its own. */
typedef struct st_team_share {
    _Alignas(64) uint64_t waited_ns; /* in this run, for others to end their shares; written by the worker */
    double size[ST_BOUNDS];          /* of all, which is 1 */
} st_team_share;

typedef struct st_shares {
    unsigned count;
    bool used; /* in this run; written by worker 0, as is the next */
    enum st_bound bound;
    st_team_share *of; /* [count] */
} st_shares;

/* Equal shares. STRETTO_E_MEMORY. */
int st_shares_create(st_shares *shares, unsigned count, stretto_error *err);
void st_shares_destroy(st_shares *shares); /* zeroed, or created before */

/* After a run of run_ns, when no worker is at work: moves the shares a little to where all would have waited equally
 * long, if workers go on as fast as they were. */
void st_shares_settle(st_shares *shares, uint64_t run_ns);

#endif
