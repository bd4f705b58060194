/* SPDX-License-Identifier: MIT */
#include "run/sampler.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

typedef struct candidate {
    float logit;
    int32_t id;
} candidate;

struct st_sampler {
    st_sampler_options options;
    uint32_t n_vocab;
    st_rng rng;
    int32_t *recent; /* [repeat_last] ring of accepted ids */
    uint32_t n_recent, next_recent;
    uint8_t *penalised; /* [n_vocab] 1 while an id's logit has had its penalty */
    candidate *heap;    /* [n_vocab] */
    candidate *kept;    /* [n_vocab] in order of likelihood */
    double *weight;     /* [n_vocab] of kept */
};

static int check_range(const char *name, double value, double most, stretto_error *err) {
    if (value >= 0 && value <= most) return STRETTO_OK; /* false for NaN */
    if (isinf(most)) return st_fail(err, STRETTO_E_USAGE, "%s must be 0 or more, not %g", name, value);
    return st_fail(err, STRETTO_E_USAGE, "%s must be from 0 to %g, not %g", name, most, value);
}

static int check_options(const st_sampler_options *o, stretto_error *err) {
    int rc = check_range("temperature", o->temperature, 1e6, err);
    if (!rc) rc = check_range("top_p", o->top_p, 1, err);
    if (!rc) rc = check_range("min_p", o->min_p, 1, err);
    return rc ? rc : check_range("repeat penalty", o->repeat_penalty, 1e6, err);
}

int st_sampler_create(st_sampler **out, const st_sampler_options *options, uint32_t n_vocab, stretto_error *err) {
    *out = NULL;
    if (n_vocab == 0) return st_fail(err, STRETTO_E_USAGE, "a sampler needs a vocabulary");
    int rc = check_options(options, err);
    if (rc) return rc;
    st_sampler *s = st_alloc(1, sizeof *s);
    if (!s) return st_fail_memory(err, "the sampler", sizeof *s);
    s->options = *options;
    s->n_vocab = n_vocab;
    if (s->options.repeat_last > (1u << 20)) s->options.repeat_last = 1u << 20;
    s->recent = st_alloc((size_t)s->options.repeat_last + 1, sizeof *s->recent);
    s->penalised = st_alloc(n_vocab, sizeof *s->penalised);
    s->heap = st_alloc(n_vocab, sizeof *s->heap);
    s->kept = st_alloc(n_vocab, sizeof *s->kept);
    s->weight = st_alloc(n_vocab, sizeof *s->weight);
    if (!s->recent || !s->penalised || !s->heap || !s->kept || !s->weight) {
        st_sampler_free(s);
        return st_fail_memory(err, "the sampler's candidates", (unsigned long long)n_vocab * 2 * sizeof(candidate));
    }
    st_sampler_reset(s);
    *out = s;
    return STRETTO_OK;
}

void st_sampler_free(st_sampler *s) {
    if (!s) return;
    st_free(s->recent);
    st_free(s->penalised);
    st_free(s->heap);
    st_free(s->kept);
    st_free(s->weight);
    st_free(s);
}

void st_sampler_reset(st_sampler *s) {
    st_rng_seed(&s->rng, s->options.seed);
    s->n_recent = s->next_recent = 0;
}

static bool penalises(const st_sampler *s) {
    double penalty = s->options.repeat_penalty;
    return penalty > 0 && penalty != 1 && s->options.repeat_last > 0;
}

bool st_sampler_is_argmax(const st_sampler *s) {
    return s->options.temperature == 0 && !penalises(s);
}

void st_sampler_accept(st_sampler *s, int32_t id) {
    if (id < 0 || (uint32_t)id >= s->n_vocab || s->options.repeat_last == 0) return;
    s->recent[s->next_recent] = id;
    s->next_recent = (s->next_recent + 1) % s->options.repeat_last;
    if (s->n_recent < s->options.repeat_last) s->n_recent++;
}

/* Whether a comes before b: the more likely, of equals the smaller id. */
static bool before(candidate a, candidate b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/* All tokens with their penalised logits into heap, in order of id. */
static void load_candidates(st_sampler *s, const float *logits) {
    for (uint32_t i = 0; i < s->n_vocab; i++) {
        float logit = isnan(logits[i]) ? -INFINITY : logits[i];
        s->heap[i] = (candidate){.logit = logit, .id = (int32_t)i};
    }
    if (!penalises(s)) return;
    float penalty = (float)s->options.repeat_penalty;
    for (uint32_t i = 0; i < s->n_recent; i++) {
        int32_t id = s->recent[i];
        if (s->penalised[id]) continue;
        s->penalised[id] = 1;
        float logit = s->heap[id].logit;
        s->heap[id].logit = logit > 0 ? logit / penalty : logit * penalty;
    }
    for (uint32_t i = 0; i < s->n_recent; i++) s->penalised[s->recent[i]] = 0;
}

static candidate best(const st_sampler *s) {
    candidate top = s->heap[0];
    for (uint32_t i = 1; i < s->n_vocab; i++) {
        if (before(s->heap[i], top)) top = s->heap[i];
    }
    return top;
}

static void sift_down(candidate *heap, uint32_t n, uint32_t at) {
    candidate moving = heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && before(heap[child + 1], heap[child])) child++;
        if (!before(heap[child], moving)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

/* Moves the likeliest candidates from heap to kept, at most `most` of them, until `enough` probability (of `total`, in
 * units of the likeliest one) is reached or the next is below min_logit. Building a heap is linear, and few are taken,
 * so a large vocabulary is never sorted. */
static uint32_t take_best(st_sampler *s, uint32_t most, double enough, float min_logit) {
    uint32_t n = s->n_vocab, kept = 0;
    double held = 0;
    for (uint32_t i = n / 2; i-- > 0;) sift_down(s->heap, n, i);
    float top = s->heap[0].logit;
    while (n > 0 && kept < most && held < enough) {
        candidate c = s->heap[0];
        if (kept > 0 && !(c.logit >= min_logit)) break;
        s->kept[kept++] = c;
        held += exp((double)c.logit - top);
        s->heap[0] = s->heap[--n];
        if (n > 0) sift_down(s->heap, n, 0);
    }
    return kept;
}

static double sum_of_weights(const candidate *c, uint32_t n, float top) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += exp((double)c[i].logit - top);
    return sum;
}

/* How many of the n kept ones hold `share` of their probability together. */
static uint32_t cut_by_p(const st_sampler *s, uint32_t n, float top, double share) {
    double enough = share * sum_of_weights(s->kept, n, top), held = 0;
    uint32_t left = 0;
    while (left < n && held < enough) held += exp((double)s->kept[left++].logit - top);
    return left;
}

/* Fills kept with what the filters leave; returns how many. */
static uint32_t filter(st_sampler *s, float top) {
    const st_sampler_options *o = &s->options;
    bool by_p = o->top_p > 0 && o->top_p < 1;
    float min_logit = o->min_p > 0 ? top + (float)log(o->min_p) : -INFINITY;
    if (o->top_k > 0 && o->top_k < s->n_vocab) {
        uint32_t n = take_best(s, o->top_k, INFINITY, -INFINITY);
        if (by_p) n = cut_by_p(s, n, top, o->top_p);
        while (n > 1 && s->kept[n - 1].logit < min_logit) n--;
        return n;
    }
    if (by_p || o->min_p > 0) {
        double enough = by_p ? o->top_p * sum_of_weights(s->heap, s->n_vocab, top) : INFINITY;
        return take_best(s, s->n_vocab, enough, min_logit);
    }
    for (uint32_t i = 0; i < s->n_vocab; i++) s->kept[i] = s->heap[i]; /* all stay, and their order does not matter */
    return s->n_vocab;
}

int32_t st_sampler_pick(st_sampler *s, const float *logits) {
    load_candidates(s, logits);
    candidate top = best(s);
    if (s->options.temperature == 0 || !isfinite(top.logit)) return top.id;
    uint32_t n = filter(s, top.logit);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        s->weight[i] = exp(((double)s->kept[i].logit - top.logit) / s->options.temperature);
        sum += s->weight[i];
    }
    double at = st_rng_unit(&s->rng) * sum;
    for (uint32_t i = 0; i < n; i++) {
        at -= s->weight[i];
        if (at < 0) return s->kept[i].id;
    }
    return top.id; /* rounding at the very end of the sum */
}
