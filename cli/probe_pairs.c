/* SPDX-License-Identifier: MIT
 * Which pairs of chunks: --pairs, or what is worth knowing first. */
#include "probe_setup.h"

#include "base/error.h"
#include "base/utf8.h"
#include "number.h"

#include <string.h>

static int add_pair(probe_plan *plan, uint32_t a, uint32_t b, stretto_error *err) {
    uint32_t n = plan->s->n_chunks;
    for (unsigned i = 0; i < plan->n_pairs; i++) {
        if (plan->pairs[i].a == a && plan->pairs[i].b == b) return STRETTO_OK;
    }
    if (a == 0 || b == 0 || a > n || b > n) {
        return st_fail(err, STRETTO_E_USAGE, "no chunk %u: the model has %u (1 to %u); --chunks changes that",
                       a && a <= n ? b : a, n, n);
    }
    if (a == b) return st_fail(err, STRETTO_E_USAGE, "a pair needs two chunks, not chunk %u twice", a);
    if (plan->n_pairs == PROBE_PAIRS_MAX) return st_fail(err, STRETTO_E_USAGE, "more than %d pairs", PROBE_PAIRS_MAX);
    plan->pairs[plan->n_pairs++] = (probe_pair){a, b};
    return STRETTO_OK;
}

static int add_all(probe_plan *plan, stretto_error *err) {
    for (uint32_t a = 1; a <= plan->s->n_chunks; a++) {
        for (uint32_t b = a + 1; b <= plan->s->n_chunks; b++) {
            int rc = add_pair(plan, a, b, err);
            if (rc) return rc;
        }
    }
    return STRETTO_OK;
}

/* The pair of the spike, and the two chunks that read most. */
static int add_default(probe_plan *plan, stretto_error *err) {
    const session *s = plan->s;
    int rc = add_pair(plan, 1, s->n_chunks < 3 ? 2 : 3, err);
    if (rc) return rc;
    st_chunk chunks[ST_MAX_CHUNKS];
    st_chunks_describe(chunks, s->spans, s->n_chunks, s->model);
    uint32_t most = 0, next = 1;
    for (uint32_t i = 1; i < s->n_chunks; i++) {
        if (chunks[i].bytes > chunks[most].bytes) {
            next = most;
            most = i;
        } else if (next == most || chunks[i].bytes > chunks[next].bytes) {
            next = i;
        }
    }
    return add_pair(plan, (most < next ? most : next) + 1, (most < next ? next : most) + 1, err);
}

/* The number at *at, which moves behind it and the spaces around it; one too large for a chunk becomes the largest. */
static bool read_chunk(const char **at, uint32_t *number) {
    uint64_t value;
    *at += strspn(*at, " ");
    if (!cli_number_whole(at, &value)) return false;
    *number = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    *at += strspn(*at, " ");
    return true;
}

static int add_listed(probe_plan *plan, const char *text, stretto_error *err) {
    const char *at = text;
    while (*at) {
        uint32_t a, b;
        const char *end = at;
        if (!read_chunk(&end, &a) || *end++ != ',' || !read_chunk(&end, &b)) {
            return st_fail(err, STRETTO_E_USAGE,
                           "--pairs wants two chunks, as in 1,3 (or \"1,3 2,4\", or all), not \"%.*s\"",
                           ST_CUT(text, 60));
        }
        int rc = add_pair(plan, a, b, err);
        if (rc) return rc;
        at = end;
        if (*at == ';') at++;
    }
    return plan->n_pairs ? STRETTO_OK : st_fail(err, STRETTO_E_USAGE, "--pairs is empty");
}

int probe_pairs_parse(probe_plan *plan, const char *text, stretto_error *err) {
    if (plan->s->n_chunks < 2) {
        return st_fail(err, STRETTO_E_USAGE, "a pair needs two chunks, this split has one; --chunks 4 makes four");
    }
    int rc = !text                      ? add_default(plan, err)
             : strcmp(text, "all") == 0 ? add_all(plan, err)
                                        : add_listed(plan, text, err);
    for (unsigned i = 0; i < plan->n_pairs; i++) plan->pairs[i].a--, plan->pairs[i].b--;
    return rc;
}
