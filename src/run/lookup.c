/* SPDX-License-Identifier: MIT */
#include "run/lookup.h"

#include "base/error.h"
#include "base/mem.h"

#define GRAM_LEAST 2

/* Before anything is measured: how likely a guessed token is right by length of what was found, and how much of a plain
 * step one more row costs. */
static const double right_at_first[ST_LOOKUP_GRAMS] = {0.30, 0.50, 0.65};
#define ROW_COST_AT_FIRST 0.2

#define WEIGHT_AT_FIRST 4.0 /* guessed tokens that the beginning counts for */
#define WEIGHT_MOST 64.0    /* what is older counts less and less */
#define COST_SHARE 0.1      /* of a new measurement in the running mean, once there have been so many */
#define LEAST_GAIN 1.03     /* expected, for a guess to be made */

/* What may be lost in all, in plain steps: so much at once, so much of each step so far, and what guesses have saved,
 * though not more than a few steps of that. A guess that could lose more is cut, or not made. */
#define LOSS_AT_FIRST 0.5
#define LOSS_SHARE 0.01
#define SAVED_MOST 8.0
#define RETRY_FIRST 16u /* passes without a guess that could have been made, until one is tried all the same */
#define RETRY_MOST 512u

struct st_lookup {
    int32_t *ids; /* [n_max] the text */
    uint32_t n, n_max;
    uint32_t *last; /* [ST_LOOKUP_GRAMS][slots] position after a gram, where it stood last; 0: nowhere */
    uint32_t mask;  /* slots - 1 */
    double right[ST_LOOKUP_GRAMS], weight[ST_LOOKUP_GRAMS]; /* share of tokens that were right; of how many */
    double plain_ns, row_cost;                              /* a plain step; one more row, in plain steps, */
    uint32_t n_costs;                                       /* measured so often */
    double steps, saved; /* the time of all passes, and what guesses have saved of it (or lost), in plain steps */
    uint32_t held_back, retry;
    uint32_t gram; /* of the last guess */
};

int st_lookup_create(st_lookup **out, uint32_t n_max, stretto_error *err) {
    *out = NULL;
    st_lookup *l = st_alloc(1, sizeof *l);
    if (!l) return st_fail_memory(err, "the lookup", sizeof *l);
    uint32_t slots = 64;
    while (slots < n_max && slots < (1u << 30)) slots *= 2;
    l->n_max = n_max;
    l->mask = slots - 1;
    l->row_cost = ROW_COST_AT_FIRST;
    l->ids = st_alloc((size_t)n_max + 1, sizeof *l->ids);
    l->last = st_alloc((size_t)ST_LOOKUP_GRAMS * slots, sizeof *l->last);
    if (!l->ids || !l->last) {
        st_lookup_free(l);
        return st_fail_memory(err, "the lookup", (uint64_t)slots * ST_LOOKUP_GRAMS * sizeof *l->last);
    }
    st_lookup_reset(l);
    *out = l;
    return STRETTO_OK;
}

void st_lookup_free(st_lookup *l) {
    if (!l) return;
    st_free(l->ids);
    st_free(l->last);
    st_free(l);
}

void st_lookup_reset(st_lookup *l) {
    for (uint64_t i = 0; l->n > 0 && i < (uint64_t)ST_LOOKUP_GRAMS * (l->mask + 1); i++) l->last[i] = 0;
    l->n = 0;
    for (unsigned g = 0; g < ST_LOOKUP_GRAMS; g++) {
        l->right[g] = right_at_first[g];
        l->weight[g] = WEIGHT_AT_FIRST;
    }
    l->held_back = 0;
    l->retry = RETRY_FIRST;
    l->steps = l->saved = 0;
}

/* The slot of the gram of kind g that ends before position `end`. */
static uint32_t *slot_of(const st_lookup *l, unsigned g, uint32_t end) {
    uint32_t hash = 2166136261u; /* FNV-1a over whole ids, then mixed */
    for (uint32_t i = end - (GRAM_LEAST + g); i < end; i++) hash = (hash ^ (uint32_t)l->ids[i]) * 16777619u;
    hash ^= hash >> 15;
    return &l->last[(size_t)g * (l->mask + 1) + (hash & l->mask)];
}

void st_lookup_add(st_lookup *l, int32_t id) {
    if (l->n == l->n_max) return;
    /* The gram before id is remembered only now that something follows it. */
    for (unsigned g = 0; g < ST_LOOKUP_GRAMS && l->n >= GRAM_LEAST + g; g++) *slot_of(l, g, l->n) = l->n;
    l->ids[l->n++] = id;
}

/* Where the text's last tokens stood before: the position after them, of the longest gram; 0: nowhere. */
static uint32_t find(const st_lookup *l, uint32_t *gram) {
    for (unsigned g = ST_LOOKUP_GRAMS; g-- > 0;) {
        uint32_t length = GRAM_LEAST + g;
        if (l->n <= length) continue;
        uint32_t at = *slot_of(l, g, l->n), same = 0;
        if (at == 0) continue;
        while (same < length && l->ids[at - 1 - same] == l->ids[l->n - 1 - same]) same++;
        if (same < length) continue; /* another gram of the same hash */
        *gram = g;
        return at;
    }
    return 0;
}

/* Tokens a plain step's time brings with a guess of n, when each is right with probability p if those before were. */
static double gain(const st_lookup *l, double p, uint32_t n) {
    double tokens = 1, all_right = 1;
    for (uint32_t i = 0; i < n; i++) {
        all_right *= p;
        tokens += all_right;
    }
    return tokens / (1 + n * l->row_cost);
}

/* The longest guess that may be wrong in all of its tokens. */
static uint32_t longest_allowed(const st_lookup *l, uint32_t most) {
    double budget = LOSS_AT_FIRST + LOSS_SHARE * l->steps + l->saved;
    if (budget >= most * l->row_cost) return most;
    return budget > 0 ? (uint32_t)(budget / l->row_cost) : 0;
}

/* The length that pays most; 0: none does. */
static uint32_t best_length(const st_lookup *l, uint32_t gram, uint32_t most) {
    uint32_t best = 0;
    double best_gain = LEAST_GAIN;
    for (uint32_t n = 1; n <= most; n++) {
        double expected = gain(l, l->right[gram], n);
        if (expected > best_gain) best = n, best_gain = expected;
    }
    return best;
}

uint32_t st_lookup_guess(st_lookup *l, int32_t *guess, uint32_t most) {
    if (most > ST_LOOKUP_MAX) most = ST_LOOKUP_MAX;
    most = l->plain_ns > 0 ? longest_allowed(l, most) : 0;
    uint32_t at = most ? find(l, &l->gram) : 0;
    if (at == 0) return 0;
    uint32_t n = best_length(l, l->gram, most);
    if (n == 0 && ++l->held_back >= l->retry) { /* one short try now and then: texts change */
        n = 1;
        l->held_back = 0;
        if (l->retry < RETRY_MOST) l->retry *= 2;
    }
    for (uint32_t i = 0; i < n; i++) guess[i] = at + i < l->n ? l->ids[at + i] : guess[at + i - l->n];
    return n;
}

/* `right` tokens came of the guess, and one that a plain step would have given. A pass that was held up counts for at
 * most twice what was expected, as its plain step would have been held up, too. */
static void learn_loss(st_lookup *l, uint32_t n, uint32_t right, double ns) {
    double expected = 1 + n * l->row_cost, took = l->plain_ns > 0 ? ns / l->plain_ns : 1;
    if (took > 2 * expected) took = 2 * expected;
    l->steps += took;
    if (n == 0) return;
    l->saved += right + 1 - took;
    if (l->saved > SAVED_MOST) l->saved = SAVED_MOST;
}

static void learn_right(st_lookup *l, uint32_t n, uint32_t right) {
    double *weight = &l->weight[l->gram], *share = &l->right[l->gram];
    uint32_t tried = right < n ? right + 1 : n; /* what follows a wrong one says nothing */
    *share = (*share * *weight + right) / (*weight + tried);
    *weight += tried;
    if (*weight > WEIGHT_MOST) *weight = WEIGHT_MOST;
    if (right == n) l->retry = RETRY_FIRST;
}

static void mix(double *mean, double share, double value) {
    *mean += share * (value - *mean);
}

/* A pass that was held up (by another program) says little, so none counts for more than twice what is known. */
static void learn_cost(st_lookup *l, uint32_t n, double ns) {
    if (n == 0) {
        if (l->plain_ns == 0) l->plain_ns = ns;
        mix(&l->plain_ns, COST_SHARE, ns < 2 * l->plain_ns ? ns : 2 * l->plain_ns);
        return;
    }
    double more = (ns / l->plain_ns - 1) / n, share = 1.0 / (2 + l->n_costs++); /* what was assumed counts as one */
    mix(&l->row_cost, share > COST_SHARE ? share : COST_SHARE, more < 0 ? 0 : more > 1 ? 1 : more);
}

void st_lookup_learn(st_lookup *l, uint32_t n, uint32_t right, uint64_t pass_ns) {
    learn_loss(l, n, right, (double)pass_ns);
    learn_cost(l, n, (double)pass_ns);
    if (n) learn_right(l, n, right);
}
