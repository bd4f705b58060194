/* SPDX-License-Identifier: MIT */
#include "plan_points.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <stdio.h>

#define CALLS 3       /* decoding, of each turn */
#define SHORT_PART 16 /* tokens of a prompt's part that is read twice */

static void add(plan_points *points, enum st_work work, uint32_t tokens, bool decodes) {
    for (uint32_t p = 0; p < points->n; p++)
        if (points->list[p].work == work && points->list[p].tokens == tokens) return;
    points->list[points->n++] = (plan_point){.work = work, .tokens = tokens, .decodes = decodes};
}

void plan_points_choose(plan_points *points, const st_workload *workload, uint32_t most, uint32_t most_rows) {
    static const uint32_t rows[] = {1, 2, 4, 8}, parts[] = {16, 64};
    uint32_t streams = workload->streams;
    *points = (plan_points){0};
    add(points, ST_WORK_PREFILL, most, false);
    for (unsigned i = 2; i-- > 0;) add(points, ST_WORK_PREFILL, parts[i] < most ? parts[i] : most, false);
    if (workload->prompt < most) add(points, ST_WORK_PREFILL, workload->prompt, false);
    add(points, ST_WORK_PREFILL, 1, true);
    for (unsigned i = 0; i < 4; i++) add(points, ST_WORK_DECODE, rows[i], true);
    if (streams > 8) add(points, ST_WORK_DECODE, streams < most_rows ? streams : most_rows, true);
}

void plan_points_expect(plan_points *points, const plan_sizes *s) {
    for (uint32_t p = 0; p < points->n; p++) {
        plan_point *point = &points->list[p];
        uint32_t known = point->decodes ? s->rows : s->tokens;
        double more = (point->decodes ? s->rows_ns : s->tokens_ns) - s->one_ns;
        double each = known > 1 && more > 0 ? more / (known - 1) : 0;
        point->ns += s->one_ns + each * (point->tokens - 1);
    }
    points->n_lanes++;
}

static bool is_long(const plan_points *points, uint32_t p) {
    return points->list[p].ns > PLAN_LONG_NS * points->n_lanes;
}

uint32_t plan_point_warm_calls(const plan_points *points, uint32_t p) {
    const plan_point *point = &points->list[p];
    return point->decodes && !point->left_out && (point->tokens == 1 || !is_long(points, p));
}

uint32_t plan_point_calls(const plan_points *points, uint32_t p) {
    const plan_point *point = &points->list[p];
    if (point->left_out) return 0;
    if (is_long(points, p)) return 1;
    return point->decodes ? CALLS : point->tokens > SHORT_PART ? 1 : 2;
}

/* Whether there is one of fewer tokens for the same curve. */
static bool is_least(const plan_points *points, uint32_t p) {
    const plan_point *point = &points->list[p];
    for (uint32_t i = 0; i < points->n; i++) {
        const plan_point *other = &points->list[i];
        if (other->work == point->work && other->decodes == point->decodes && other->tokens < point->tokens)
            return false;
    }
    return true;
}

double plan_points_fit(plan_points *points, double most_ns) {
    for (;;) {
        double all = 0;
        plan_point *longest = NULL;
        for (uint32_t p = 0; p < points->n; p++) {
            plan_point *point = &points->list[p];
            all += (plan_point_warm_calls(points, p) + plan_point_calls(points, p)) * point->ns;
            if (!point->left_out && !is_least(points, p) && (!longest || point->ns > longest->ns)) longest = point;
        }
        if (all <= most_ns || !longest) return all;
        longest->left_out = true;
    }
}

uint32_t plan_points_most(const plan_points *points, enum st_work work, double most_ns) {
    const plan_point *within = NULL, *beyond = NULL; /* the last that takes no more, the first that takes more */
    const double all_ns = most_ns * points->n_lanes;
    for (uint32_t p = 0; p < points->n; p++) {
        const plan_point *point = &points->list[p];
        if (point->work != work) continue;
        if (point->ns > all_ns)
            beyond = !beyond || point->tokens < beyond->tokens ? point : beyond;
        else
            within = !within || point->tokens > within->tokens ? point : within;
    }
    if (!within) return 1;
    if (!beyond) return within->tokens;
    double part = (all_ns - within->ns) / (beyond->ns - within->ns);
    return within->tokens + (uint32_t)(part * (beyond->tokens - within->tokens));
}

void plan_points_text(const plan_points *points, char *out, size_t size) {
    st_buf text = {0};
    for (uint32_t p = 0; p < points->n; p++) {
        const plan_point *point = &points->list[p];
        if (!point->left_out) continue;
        double s = point->ns / 1e9 / points->n_lanes;
        st_buf_printf(&text, "%s %u %s (%.*f s)",
                      text.len ? "," : "left out, and put on the line through calls of fewer:", point->tokens,
                      point->decodes ? "rows" : "tokens of prompts", s < 10, s);
    }
    const char *all = text.len && !text.failed ? text.data : "";
    snprintf(out, size, "%.*s", ST_CUT(all, size - 1));
    st_buf_free(&text);
}
