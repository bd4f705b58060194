/* SPDX-License-Identifier: MIT */
#include "run/worth.h"

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

void st_worth_init(st_worth *w, const double *right, double row_cost) {
    *w = (st_worth){.row_cost = row_cost};
    st_worth_reset(w, right);
}

void st_worth_reset(st_worth *w, const double *right) {
    for (unsigned k = 0; k < ST_WORTH_KINDS; k++) {
        w->right[k] = right[k];
        w->weight[k] = WEIGHT_AT_FIRST;
    }
    w->held_back = 0;
    w->retry = RETRY_FIRST;
    w->steps = w->saved = 0;
}

/* ---- whether it pays ---- */

/* Tokens a plain step's time brings with a guess of n, when each is right with probability p if those before were. */
static double gain(const st_worth *w, double p, uint32_t n) {
    double tokens = 1, all_right = 1;
    for (uint32_t i = 0; i < n; i++) {
        all_right *= p;
        tokens += all_right;
    }
    return tokens / (1 + n * w->row_cost);
}

/* The longest guess that may be wrong in all of its tokens. */
static uint32_t longest_allowed(const st_worth *w, uint32_t most) {
    double budget = LOSS_AT_FIRST + LOSS_SHARE * w->steps + w->saved;
    if (budget >= most * w->row_cost) return most;
    return budget > 0 ? (uint32_t)(budget / w->row_cost) : 0;
}

/* The length that pays most; 0: none does. */
static uint32_t best_length(const st_worth *w, unsigned kind, uint32_t most) {
    uint32_t best = 0;
    double best_gain = LEAST_GAIN;
    for (uint32_t n = 1; n <= most; n++) {
        double expected = gain(w, w->right[kind], n);
        if (expected > best_gain) best = n, best_gain = expected;
    }
    return best;
}

static uint32_t allowed_now(const st_worth *w, uint32_t most) {
    return w->plain_ns > 0 ? longest_allowed(w, most) : 0;
}

uint32_t st_worth_length(st_worth *w, unsigned kind, uint32_t most) {
    most = allowed_now(w, most);
    uint32_t n = most ? best_length(w, kind, most) : 0;
    if (n > 0 || most == 0 || ++w->held_back < w->retry) return n;
    w->held_back = 0; /* one short try now and then: texts change */
    if (w->retry < RETRY_MOST) w->retry *= 2;
    return 1;
}

bool st_worth_would(st_worth *w, unsigned kind, uint32_t most) {
    most = allowed_now(w, most);
    if (most == 0) return false;
    if (best_length(w, kind, most) > 0 || w->held_back + 1 >= w->retry) return true;
    w->held_back++;
    return false;
}

bool st_worth_pays(const st_worth *w, unsigned kind) {
    return w->plain_ns == 0 || best_length(w, kind, longest_allowed(w, 1)) > 0;
}

/* ---- what was measured ---- */

/* A pass that was held up (by another program) counts for at most twice what was expected, as its plain step would have
 * been held up, too. In plain steps. */
static double counted(const st_worth *w, double expected, double ns) {
    double took = w->plain_ns > 0 ? ns / w->plain_ns : 1;
    return took > 2 * expected ? 2 * expected : took;
}

/* So much time brought so many tokens, each of which would have been a plain step. */
static void learn_saved(st_worth *w, double took, uint32_t tokens) {
    w->saved += tokens - took;
    if (w->saved > SAVED_MOST) w->saved = SAVED_MOST;
}

static void learn_right(st_worth *w, unsigned kind, uint32_t n, uint32_t right) {
    double *weight = &w->weight[kind], *share = &w->right[kind];
    uint32_t tried = right < n ? right + 1 : n; /* what follows a wrong one says nothing */
    *share = (*share * *weight + right) / (*weight + tried);
    *weight += tried;
    if (*weight > WEIGHT_MOST) *weight = WEIGHT_MOST;
    if (right == n) w->retry = RETRY_FIRST;
}

static void mix(double *mean, double share, double value) {
    *mean += share * (value - *mean);
}

void st_worth_learn(st_worth *w, unsigned kind, uint32_t n, uint32_t right, uint64_t ns) {
    double took = counted(w, 1 + n * w->row_cost, (double)ns), more = ((double)ns / w->plain_ns - 1) / n;
    double share = 1.0 / (2 + w->n_costs++); /* what was assumed counts as one */
    w->steps += took;
    learn_saved(w, took, right + 1);
    mix(&w->row_cost, share > COST_SHARE ? share : COST_SHARE, more < 0 ? 0 : more > 1 ? 1 : more);
    learn_right(w, kind, n, right);
}

void st_worth_learn_plain(st_worth *w, bool alone, uint64_t ns) {
    double took = counted(w, 1, (double)ns);
    w->steps += took;
    if (!alone) {
        if (w->plain_ns > 0) learn_saved(w, took, 1);
        return;
    }
    if (w->plain_ns == 0) w->plain_ns = (double)ns;
    mix(&w->plain_ns, COST_SHARE, (double)ns < 2 * w->plain_ns ? (double)ns : 2 * w->plain_ns);
}
