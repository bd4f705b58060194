/* SPDX-License-Identifier: MIT
 * Drafts: how long, whether they were right, and what a model drafts while the prompt is read and its last draft is
 * verified. As in src/run/draft.c, a call of the model is one token (or the prompt), and its text is changed under it.
 */
#include "plan/sim_impl.h"

#include "base/min.h"

static bool by_model(const sim *s) {
    return s->schedule->draft == ST_DRAFT_MODEL;
}

/* The longest draft when so many tokens are left. */
static uint32_t longest(const sim *s, uint32_t left) {
    return left > 1 ? st_min_u32(s->schedule->longest_draft, left - 1) : 0;
}

uint32_t sim_draft_length(const sim *s, uint32_t slot) {
    const sim_slot *own = &s->slots[slot];
    if (s->schedule->draft == ST_DRAFT_NONE || !own->timed) return 0;
    uint32_t length = longest(s, sim_wanted(s, slot));
    return by_model(s) ? st_min_u32(length, own->made) : length;
}

/* Nobody waits for a model that reads its prompt. */
bool sim_draft_ready(const sim *s, uint32_t slot) {
    const sim_slot *own = &s->slots[slot];
    return !by_model(s) || own->to_read > 0 || own->made >= own->n_draft;
}

/* ---- the model's calls ---- */

/* The next one, if anything is wanted. */
static void go_on(sim *s, uint32_t slot, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    if (own->drafting || own->made >= own->n_draft || s->code) return;
    uint32_t index = sim_call_new(s);
    if (index == SIM_NONE) return;
    sim_call *call = &s->calls[index];
    call->what = ST_SIM_DRAFT;
    call->slot = slot;
    call->stream = own->stream;
    call->tokens = own->to_read > 0 ? own->to_read : 1;
    call->n_prompt = own->to_read;
    call->cause = cause;
    own->drafting = true;
    own->vain = false;
    sim_enqueue(s, s->schedule->draft_unit, index);
}

/* The text is another one, after which `made` tokens are there and n are wanted. */
static void want(sim *s, uint32_t slot, uint32_t made, uint32_t n, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    own->made = made;
    own->n_draft = n;
    go_on(s, slot, cause);
}

void sim_draft_begin(sim *s, uint32_t slot) {
    sim_slot *own = &s->slots[slot];
    if (!by_model(s)) return;
    uint32_t ahead = longest(s, s->workload->generate - 1);
    own->to_read = s->workload->prompt;
    want(s, slot, 0, ahead ? ahead + 1 : 0, SIM_NONE);
}

void sim_draft_submitted(sim *s, uint32_t slot, uint32_t tokens, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    own->draft = tokens;
    own->plain = tokens == 0 && !own->drafting;
    if (!by_model(s) || tokens == 0) return;
    /* As if all of the draft were right, and its own guess of the token after it, too. */
    uint32_t ahead = longest(s, sim_wanted(s, slot) - tokens - 1);
    want(s, slot, own->made - tokens, ahead ? ahead + 1 : 0, cause);
}

void sim_draft_done(sim *s, uint32_t index) {
    sim_call call = s->calls[index];
    sim_slot *own = &s->slots[call.slot];
    sim_call_free(s, index);
    own->drafting = false;
    if (call.n_prompt > 0 && call.stream == own->stream) own->to_read = 0;
    if (!own->vain && own->made < own->n_draft) own->made++;
    go_on(s, call.slot, call.cause);
    sim_flow_submit(s, call.cause);
}

/* ---- verification ---- */

uint32_t sim_draft_verify(sim *s, uint32_t slot) {
    sim_slot *own = &s->slots[slot];
    double acceptance = s->costs->acceptance[s->schedule->draft];
    uint32_t right = 0;
    while (right < own->draft && st_rng_unit(&s->rng) < acceptance) right++;
    s->n_verified++;
    s->n_accepted += right + 1;
    return right + 1;
}

/* What was made ahead counts when all of the draft before was right, and so was the model's guess of the token after
 * it. Before the first one is verified a plain step is timed, with the model at rest. */
void sim_draft_settled(sim *s, uint32_t slot, uint32_t given, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    own->timed = own->timed || own->plain;
    if (!by_model(s)) return;
    bool right = given == own->draft + 1 && own->made > 0 && own->n_draft > 0 &&
                 st_rng_unit(&s->rng) < s->costs->acceptance[ST_DRAFT_MODEL];
    own->vain = own->drafting && !right;
    bool goes_on = own->state == SIM_DECODING && own->timed;
    want(s, slot, right ? own->made - 1 : 0, goes_on ? longest(s, sim_wanted(s, slot)) : 0, cause);
}
