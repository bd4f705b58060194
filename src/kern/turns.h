/* SPDX-License-Identifier: MIT
 * A range of strips of a product in turns, for kernels whose turns have several strips. */
#ifndef ST_KERN_TURNS_H
#define ST_KERN_TURNS_H

#include "kern/kern.h"

/* Strips lo..hi-1: as many parts of equal length as a turn has strips, then those that are left. */
static inline void st_turns_range(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y,
                                  size_t ldy, st_turn_fn *run, uint32_t a_turn) {
    const uint32_t turns = (hi - lo) / a_turn, rest = (hi - lo) % a_turn;
    st_turn_strip strips[ST_TURN_MAX];
    for (uint32_t i = 0; i < a_turn; i++) {
        const size_t strip = lo + i * turns;
        strips[i] = (st_turn_strip){w->data + strip * w->strip_bytes, y + strip * ST_STRIP, ldy};
    }
    if (turns > 0) run(w, panel, strips, a_turn, turns);
    const size_t strip = hi - rest;
    strips[0] = (st_turn_strip){w->data + strip * w->strip_bytes, y + strip * ST_STRIP, ldy};
    if (rest > 0) run(w, panel, strips, 1, rest);
}

#endif
