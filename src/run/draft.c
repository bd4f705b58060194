/* SPDX-License-Identifier: MIT */
#include "run/draft.h"

#include "base/error.h"
#include "base/mem.h"

struct st_draft {
    st_chain *chain;
    int32_t *held; /* [context] the tokens at the chain's positions */
    bool dead;
};

/* Two pieces of one text. */
typedef struct text {
    const int32_t *prompt, *ids;
    uint32_t n_prompt, n;
} text;

int st_draft_create(st_draft **out, st_chain *chain, stretto_error *err) {
    *out = NULL;
    st_draft *d = st_alloc(1, sizeof *d);
    if (!d) return st_fail_memory(err, "a draft", sizeof *d);
    d->chain = chain;
    d->held = st_alloc(st_chain_ctx(chain), sizeof *d->held);
    if (!d->held) {
        st_free(d);
        return st_fail_memory(err, "a draft", st_chain_ctx(chain) * sizeof *d->held);
    }
    *out = d;
    return STRETTO_OK;
}

void st_draft_free(st_draft *d) {
    if (!d) return;
    st_free(d->held);
    st_free(d);
}

static int32_t token(const text *t, uint32_t i) {
    return i < t->n_prompt ? t->prompt[i] : t->ids[i - t->n_prompt];
}

/* Goes back to where the chain and the text part, at the latest before the text's last token. */
static void go_back(st_draft *d, const text *t) {
    uint32_t same = 0, length = st_chain_length(d->chain);
    while (same < length && same + 1 < t->n && d->held[same] == token(t, same)) same++;
    if (st_chain_truncate(d->chain, same, NULL)) st_chain_reset(d->chain); /* a window has lost what came before */
}

static bool read_on(st_draft *d, const text *t) {
    uint32_t from = st_chain_length(d->chain);
    for (uint32_t i = from; i < t->n; i++) d->held[i] = token(t, i);
    return st_chain_forward(d->chain, d->held + from, t->n - from, ST_WANT_LAST, NULL, NULL, NULL) == STRETTO_OK;
}

uint32_t st_draft_guess(st_draft *d, const int32_t *prompt, uint32_t n_prompt, const int32_t *ids, uint32_t n_ids,
                        int32_t *guess, uint32_t most) {
    text t = {.prompt = prompt, .ids = ids, .n_prompt = n_prompt, .n = n_prompt + n_ids};
    uint32_t room = st_chain_ctx(d->chain);
    if (d->dead || most == 0 || t.n > room) return 0;
    go_back(d, &t);
    d->dead = !read_on(d, &t);
    for (uint32_t n = 0; !d->dead; n++) {
        guess[n] = st_chain_argmax(d->chain);
        if (n + 1 == most || t.n + n == room) return n + 1;
        d->held[t.n + n] = guess[n];
        d->dead = st_chain_forward(d->chain, &guess[n], 1, ST_WANT_LAST, NULL, NULL, NULL) != STRETTO_OK;
    }
    return 0;
}
