/* SPDX-License-Identifier: MIT
 * A range of strips of one token's product in turns, for kernels whose turns have several strips. */
#ifndef ST_KERN_TURNS_H
#define ST_KERN_TURNS_H

#include "kern/kern.h"

/* Strips lo..hi-1: as many parts of equal length as a turn has strips, then those that are left. */
static inline void st_turns_range(const st_matrix *w, const st_panel *panel, uint32_t lo, uint32_t hi, float *y,
                                  st_turn_fn *run, uint32_t a_turn) {
    const uint32_t turns = (hi - lo) / a_turn, rest = (hi - lo) % a_turn;
    const uint8_t *strips[ST_TURN_MAX];
    float *to[ST_TURN_MAX];
    for (uint32_t i = 0; i < a_turn; i++) {
        strips[i] = w->data + (lo + i * turns) * w->strip_bytes;
        to[i] = y + (size_t)(lo + i * turns) * ST_STRIP;
    }
    if (turns > 0) run(w, panel, strips, to, a_turn, turns);
    strips[0] = w->data + (hi - rest) * w->strip_bytes;
    to[0] = y + (size_t)(hi - rest) * ST_STRIP;
    if (rest > 0) run(w, panel, strips, to, 1, rest);
}

#endif
