/* SPDX-License-Identifier: MIT
 * Drafts: how long, whether they were right, and what a model drafts while its last draft is verified. */
#include "plan/sim_impl.h"

static uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

uint32_t sim_draft_length(const sim *s, uint32_t slot) {
    if (s->schedule->draft == ST_DRAFT_NONE) return 0;
    return min_u32(s->schedule->longest_draft, sim_wanted(s, slot) - 1);
}

bool sim_draft_ready(const sim *s, uint32_t slot) {
    return s->schedule->draft != ST_DRAFT_MODEL || s->slots[slot].drafted || sim_draft_length(s, slot) == 0;
}

static uint32_t start(sim *s, uint32_t slot, uint32_t tokens, uint32_t cause) {
    uint32_t index = sim_call_new(s);
    if (index == SIM_NONE) return index;
    sim_call *call = &s->calls[index];
    call->what = ST_SIM_DRAFT;
    call->slot = slot;
    call->stream = s->slots[slot].stream;
    call->tokens = tokens;
    call->cause = cause;
    sim_enqueue(s, s->schedule->draft_unit, index);
    return index;
}

void sim_draft_submitted(sim *s, uint32_t slot, uint32_t tokens, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    own->draft = tokens;
    own->drafted = false;
    uint32_t left = sim_wanted(s, slot);
    /* Worth it when something is left after the draft and the token that its verification adds, which has to be
     * guessed, too. */
    if (s->schedule->draft != ST_DRAFT_MODEL || tokens == 0 || left <= tokens + 2 || s->code) return;
    own->ahead = start(s, slot, min_u32(s->schedule->longest_draft, left - tokens - 2) + 1, cause);
    own->ahead_done = false;
}

uint32_t sim_draft_verify(sim *s, uint32_t slot) {
    sim_slot *own = &s->slots[slot];
    if (own->draft == 0) return 1;
    double acceptance = s->costs->acceptance[s->schedule->draft];
    uint32_t right = 0;
    while (right < own->draft && st_rng_unit(&s->rng) < acceptance) right++;
    s->n_verified++;
    s->n_accepted += right + 1;
    return right + 1;
}

/* What was made ahead counts when all of the draft before was right, and so was its guess of the token after. */
static bool use_ahead(sim *s, uint32_t slot, uint32_t given) {
    sim_slot *own = &s->slots[slot];
    uint32_t ahead = own->ahead;
    own->ahead = SIM_NONE;
    if (ahead == SIM_NONE) return false;
    bool right = own->state == SIM_DECODING && given == own->draft + 1 &&
                 st_rng_unit(&s->rng) < s->costs->acceptance[ST_DRAFT_MODEL];
    if (right && !own->ahead_done) {
        own->drafting = true; /* its end lets the next step start */
        return true;
    }
    if (own->ahead_done) {
        sim_call_free(s, ahead);
    } else {
        sim_cancel(s, s->schedule->draft_unit, ahead);
    }
    own->drafted = right;
    return right;
}

void sim_draft_settled(sim *s, uint32_t slot, uint32_t given, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    if (s->schedule->draft != ST_DRAFT_MODEL) return;
    if (use_ahead(s, slot, given) || own->state != SIM_DECODING) return;
    uint32_t length = sim_draft_length(s, slot);
    if (length == 0) return;
    own->drafting = true;
    start(s, slot, length, cause);
}

void sim_draft_done(sim *s, uint32_t index) {
    sim_call call = s->calls[index];
    sim_slot *own = &s->slots[call.slot];
    if (own->ahead == index) {
        own->ahead_done = true; /* kept until the verification says whether it counts */
        return;
    }
    sim_call_free(s, index);
    own->drafting = false;
    own->drafted = true;
    sim_flow_submit(s, call.cause);
}
