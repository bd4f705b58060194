/* SPDX-License-Identifier: MIT */
#include "run/draft.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/min.h"

struct st_draft {
    st_chain *chain;
    st_listener *listener;
    int32_t *text; /* [context + 1] the tokens that are given, and those that were made after them */
    uint32_t n_given, n_text, n_wanted; /* n_wanted: length of the text at which it is enough */
    uint32_t n_read;                    /* tokens that the chain holds, or will when its step is done, */
    uint32_t n_same;                    /* and how many of those, from the first on, are the text's */
    uint32_t n_step;                    /* tokens that the step under way reads */
    bool under_way, tells, dead;        /* tells: the step that is under way gives the token after the text */
};

#define GUESS_MOST 16 /* tokens that a guess and its verification add to the text */

int st_draft_create(st_draft **out, st_chain *chain, st_listener *listener, stretto_error *err) {
    *out = NULL;
    st_draft *d = st_alloc(1, sizeof *d);
    if (!d) return st_fail_memory(err, "a draft", sizeof *d);
    d->chain = chain;
    d->listener = listener;
    d->text = st_alloc((size_t)st_chain_ctx(chain) + 1, sizeof *d->text);
    if (!d->text) {
        st_free(d);
        return st_fail_memory(err, "a draft", (st_chain_ctx(chain) + 1ull) * sizeof *d->text);
    }
    st_chain_reset(chain);
    *out = d;
    return STRETTO_OK;
}

void st_draft_free(st_draft *d) {
    if (!d) return;
    if (d->under_way) st_chain_settle(d->chain, NULL);
    st_free(d->text);
    st_free(d);
}

static int32_t token(const st_draft_text *t, uint32_t i) {
    if (i < t->n_prompt) return t->prompt[i];
    i -= t->n_prompt;
    return i < t->n_ids ? t->ids[i] : t->guess[i - t->n_ids];
}

/* The text becomes t. What was made after the text before stays where t does not contradict it. */
static void change_text(st_draft *d, const st_draft_text *t, uint32_t n) {
    uint32_t same = 0, known = st_min_u32(d->n_text, n);
    while (same < known && d->text[same] == token(t, same)) same++;
    if (same < n || n < d->n_given) {
        d->n_text = n;
        d->n_same = st_min_u32(d->n_same, same);
        for (uint32_t i = same; i < n; i++) d->text[i] = token(t, i);
    }
    d->n_given = n;
}

/* Goes back to where the chain and the text part, at the latest before the last given token whose logits are wanted. */
static void go_back(st_draft *d) {
    uint32_t same = st_min_u32(d->n_same, d->n_text - 1);
    if (d->n_read <= same) return;
    if (st_chain_truncate(d->chain, same, NULL)) st_chain_reset(d->chain); /* a window has lost what came before */
    d->n_read = d->n_same = st_chain_length(d->chain);
}

/* Submits what comes next: a part of the text that was not read, whose end gives the next token. */
static bool go_on(st_draft *d) {
    if (d->under_way || d->dead || d->n_text >= d->n_wanted) return d->under_way;
    go_back(d);
    uint32_t n = st_min_u32(d->n_text - d->n_read, st_chain_batch(d->chain));
    d->tells = d->n_read + n == d->n_text;
    d->dead = st_chain_submit(d->chain, d->text + d->n_read, n, d->tells, d->listener, NULL) != STRETTO_OK;
    d->under_way = !d->dead;
    d->n_step = n;
    if (d->under_way) d->n_read = d->n_same = d->n_read + n;
    return d->under_way;
}

bool st_draft_want(st_draft *d, const st_draft_text *t, uint32_t most) {
    uint64_t n = (uint64_t)t->n_prompt + t->n_ids + t->n_guess, room = st_chain_ctx(d->chain);
    bool before = d->under_way;
    if (d->dead || n > room) {
        st_draft_stop(d);
        return false;
    }
    change_text(d, t, (uint32_t)n);
    d->n_wanted = d->n_given + st_min_u32(most, (uint32_t)(room + 1 - n));
    return go_on(d) && !before;
}

void st_draft_stop(st_draft *d) {
    d->n_given = d->n_wanted = d->n_text;
}

bool st_draft_arrived(st_draft *d) {
    d->under_way = false;
    d->dead = d->dead || st_chain_settle(d->chain, NULL) != STRETTO_OK;
    /* Of a text that is another one by now, the token is for nothing. */
    if (!d->dead && d->tells && d->n_read == d->n_same && d->n_read == d->n_text && d->n_text < d->n_wanted)
        d->text[d->n_text++] = st_chain_argmax(d->chain);
    return go_on(d);
}

bool st_draft_busy(const st_draft *d) {
    return !d->dead && d->n_text < d->n_wanted;
}

bool st_draft_behind(const st_draft *d) {
    uint32_t same = st_min_u32(d->n_same, d->n_text);
    return st_draft_busy(d) && (d->n_text - same > GUESS_MOST || (d->under_way && d->n_step > GUESS_MOST));
}

bool st_draft_under_way(const st_draft *d) {
    return d->under_way;
}

uint32_t st_draft_take(const st_draft *d, int32_t *guess, uint32_t most) {
    uint32_t n = d->dead ? 0 : st_min_u32(d->n_text - d->n_given, most);
    for (uint32_t i = 0; i < n; i++) guess[i] = d->text[d->n_given + i];
    return n;
}
