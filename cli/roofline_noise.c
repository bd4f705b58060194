/* SPDX-License-Identifier: MIT
 * Whether what a roofline is compared with was itself as fast as it should be. */
#include "roofline.h"

#define LEAST_OF_PEAK 0.5 /* of a quiet machine's plain steps: what memory gives changes by a third within seconds */

size_t roofline_disturbed(const roofline *roof, size_t *compared) {
    size_t disturbed = 0;
    *compared = 0;
    for (size_t i = 0; i < roof->n; i++) {
        const roof_row *row = &roof->rows[i];
        if (row->plain_rate <= 0) continue;
        ++*compared;
        if (row->plain_rate < LEAST_OF_PEAK * row->plain_peak) disturbed++;
    }
    return disturbed;
}

void roofline_warn(const roofline *roof, const st_log *log) {
    size_t compared, disturbed = roofline_disturbed(roof, &compared);
    if (disturbed == 0) return;
    st_warn(log,
            "in turns with %zu of %zu kernels, parts and decode tests, plain reads or arithmetic gave less than half "
            "of the peak: something else took the cores, and those shares say little; run it again when the machine is "
            "quiet",
            disturbed, compared);
}
