/* SPDX-License-Identifier: MIT */
#include "plan_samples.h"

#include "base/error.h"
#include "stat/stat.h"

#include <stdlib.h>

int plan_samples_add(plan_samples *s, double ns, stretto_error *err) {
    if (s->n == s->cap) {
        uint32_t cap = s->cap ? 2 * s->cap : 16;
        double *more = realloc(s->ns, cap * sizeof *more);
        if (!more) return st_fail_memory(err, "samples", cap * sizeof *more);
        s->ns = more;
        s->cap = cap;
    }
    s->ns[s->n++] = ns;
    return STRETTO_OK;
}

double plan_samples_mean(const plan_samples *s) {
    return s->n ? st_mean_unstalled(s->ns, s->n) : 0; /* their order means nothing */
}

void plan_samples_free(plan_samples *s) {
    free(s->ns);
    *s = (plan_samples){0};
}
