/* SPDX-License-Identifier: MIT */
#include "chunk/split.h"

#include "base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CHUNKS 4

/* Best way to cut the first `end` layers into some number of spans: the largest span, then the sum of squares. */
typedef struct best {
    uint64_t largest;
    double squares;
    uint32_t start; /* where its last span begins */
} best;

/* The last span of `k` spans over layers 0..end-1, tried at every start; costs are prefix sums. A later start is taken
 * on a tie, which makes the last span the smaller one. */
static best cut_last(const best *before, const uint64_t *prefix, uint32_t k, uint32_t end, uint64_t extra,
                     uint64_t cap) {
    best found = {.largest = UINT64_MAX};
    for (uint32_t start = k - 1; start < end; start++) {
        if (before[start].largest == UINT64_MAX) continue;
        uint64_t own = prefix[end] - prefix[start] + extra;
        uint64_t largest = own > before[start].largest ? own : before[start].largest;
        double squares = before[start].squares + (double)own * (double)own;
        bool better =
            cap ? largest <= cap && (found.largest == UINT64_MAX || squares <= found.squares) : largest < found.largest;
        if (better) found = (best){.largest = largest, .squares = squares, .start = start};
    }
    return found;
}

/* table[k][end]: k spans over the first `end` layers; cap 0 minimises the largest span, else the sum of squares below
 * cap. Returns the largest span of the whole. */
static uint64_t cut_all(best *table, uint32_t n, const uint64_t *prefix, uint32_t n_layers, uint64_t head,
                        uint64_t cap) {
    uint32_t width = n_layers + 1;
    for (uint32_t end = 0; end <= n_layers; end++) table[end] = (best){.largest = end ? UINT64_MAX : 0};
    for (uint32_t k = 1; k <= n; k++)
        for (uint32_t end = 0; end <= n_layers; end++) {
            best *to = &table[(size_t)k * width + end];
            *to = (best){.largest = UINT64_MAX};
            if (end >= k) *to = cut_last(&table[(size_t)(k - 1) * width], prefix, k, end, k == n ? head : 0, cap);
        }
    return table[(size_t)n * width + n_layers].largest;
}

int st_split_even(st_span *spans, uint32_t n, const uint64_t *layer_cost, uint32_t n_layers, uint64_t head_cost,
                  stretto_error *err) {
    if (n == 0 || n > n_layers || n > ST_MAX_CHUNKS)
        return st_fail(err, STRETTO_E_USAGE, "cannot cut %u layers into %u chunks: expected 1 to %u", n_layers, n,
                       n_layers < ST_MAX_CHUNKS ? n_layers : ST_MAX_CHUNKS);
    uint64_t *prefix = calloc((size_t)n_layers + 1, sizeof *prefix);
    best *table = calloc((size_t)(n + 1) * (n_layers + 1), sizeof *table);
    int code = 0;
    if (!prefix || !table) {
        code = st_fail_memory(err, "split table", (size_t)(n + 1) * (n_layers + 1) * sizeof *table);
        goto out;
    }
    for (uint32_t i = 0; i < n_layers; i++) prefix[i + 1] = prefix[i] + layer_cost[i];
    uint64_t cap = cut_all(table, n, prefix, n_layers, head_cost, 0);
    cut_all(table, n, prefix, n_layers, head_cost, cap ? cap : 1);
    for (uint32_t k = n, end = n_layers; k > 0; k--) {
        uint32_t start = table[(size_t)k * (n_layers + 1) + end].start;
        spans[k - 1] = (st_span){.first = start, .last = end - 1};
        end = start;
    }
out:
    free(prefix);
    free(table);
    return code;
}

static int split_model(st_span *spans, uint32_t n, const st_model *model, stretto_error *err) {
    uint64_t *cost = calloc(model->n_layers, sizeof *cost);
    if (!cost) return st_fail_memory(err, "layer costs", model->n_layers * sizeof *cost);
    for (uint32_t i = 0; i < model->n_layers; i++) cost[i] = st_layer_bytes(model, i);
    int code = st_split_even(spans, n, cost, model->n_layers, st_head_bytes(model), err);
    free(cost);
    return code;
}

/* Layers first..last in halves, the first the larger one. */
static void halve(st_span *spans, uint32_t *n, uint32_t first, uint32_t last) {
    uint32_t count = last - first + 1, half = (count + 1) / 2;
    spans[(*n)++] = (st_span){first, first + half - 1};
    if (count > 1) spans[(*n)++] = (st_span){first + half, last};
}

/* What --chunks stands for when it is not given. A model whose last layers borrow KV is cut where the borrowing begins,
 * and each side in half, as the first engine of this kind cut Gemma 4 E2B: 0-7 8-14 15-24 25-34. */
static int split_default(st_span *spans, uint32_t *n, const st_model *model, stretto_error *err) {
    uint32_t own = 0;
    while (own < model->n_layers && model->layers[own].kv_layer == own) own++;
    if (own == model->n_layers) {
        *n = model->n_layers < DEFAULT_CHUNKS ? model->n_layers : DEFAULT_CHUNKS;
        return split_model(spans, *n, model, err);
    }
    *n = 0;
    halve(spans, n, 0, own - 1);
    halve(spans, n, own, model->n_layers - 1);
    return 0;
}

/* A number without sign or space, or false; one too large for any layer becomes UINT32_MAX. */
static bool read_number(const char **at, uint32_t *value) {
    if (!isdigit((unsigned char)**at)) return false;
    char *end;
    unsigned long v = strtoul(*at, &end, 10);
    *at = end;
    *value = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
    return true;
}

/* A number that has to be a layer's; the message quotes it as it was written. */
static int read_layer(const char **at, uint32_t *layer, const char *text, uint32_t n_layers, stretto_error *err) {
    const char *start = *at;
    if (!read_number(at, layer))
        return st_fail(err, STRETTO_E_USAGE,
                       "chunks \"%s\": cannot read \"%s\"; expected a number of chunks, or ranges of "
                       "layers such as 0-%u,%u-%u",
                       text, start, n_layers / 2 - (n_layers > 1), n_layers / 2, n_layers - 1);
    if (*layer >= n_layers)
        return st_fail(err, STRETTO_E_USAGE, "chunks \"%s\": no layer %.*s, the model has %u (0 to %u)", text,
                       (int)(*at - start), start, n_layers, n_layers - 1);
    return 0;
}

static int read_range(const char **at, st_span *span, const char *text, uint32_t n_layers, stretto_error *err) {
    int code = read_layer(at, &span->first, text, n_layers, err);
    if (code) return code;
    span->last = span->first;
    if (**at == '-') {
        ++*at;
        code = read_layer(at, &span->last, text, n_layers, err);
        if (code) return code;
    }
    if (**at && **at != ',')
        return st_fail(err, STRETTO_E_USAGE, "chunks \"%s\": cannot read \"%s\"; expected a comma or the end", text,
                       *at);
    return 0;
}

static int read_ranges(st_span *spans, uint32_t *n, const char *text, uint32_t n_layers, stretto_error *err) {
    uint32_t next = 0;
    *n = 0;
    for (const char *at = text; *at || *n == 0;) {
        if (*n == ST_MAX_CHUNKS)
            return st_fail(err, STRETTO_E_USAGE, "chunks \"%s\": more than %d", text, ST_MAX_CHUNKS);
        st_span *span = &spans[*n];
        int code = read_range(&at, span, text, n_layers, err);
        if (code) return code;
        if (span->first != next || span->last < span->first)
            return st_fail(err, STRETTO_E_USAGE,
                           "chunks \"%s\": range %u-%u should begin at layer %u: ranges cover all layers in order",
                           text, span->first, span->last, next);
        next = span->last + 1;
        ++*n;
        if (*at == ',') {
            at++;
            if (!*at) return st_fail(err, STRETTO_E_USAGE, "chunks \"%s\": ends with a comma", text);
        }
    }
    if (next != n_layers)
        return st_fail(err, STRETTO_E_USAGE, "chunks \"%s\": layers %u to %u are in no chunk", text, next,
                       n_layers - 1);
    return 0;
}

int st_split_parse(st_span *spans, uint32_t *n, const char *text, const st_model *model, stretto_error *err) {
    if (!text) return split_default(spans, n, model, err);
    if (strspn(text, "0123456789") == strlen(text) && *text) {
        *n = (uint32_t)(strlen(text) > 9 ? UINT32_MAX : strtoul(text, NULL, 10));
        return split_model(spans, *n, model, err);
    }
    return read_ranges(spans, n, text, model->n_layers, err);
}
