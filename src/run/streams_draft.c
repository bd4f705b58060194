/* SPDX-License-Identifier: MIT
 * What a model that guesses is asked for, and when: at once after each pass, and for the pass after it while that one
 * is verified. And how much: what pays by run/worth.h, with what its guesses cost all in all: further rows, waiting for
 * it, and what it takes from the units beside it. A plain step is timed with the model at rest. */
#include "run/streams_impl.h"

#include "base/clock.h"

/* Before anything is known: how likely its guesses are right, and what one more token of them costs of a plain step:
 * the first guess is of one token. */
static const double right_at_first[ST_WORTH_KINDS] = {0.6};
#define ROW_COST_AT_FIRST 0.5
#define KIND 0
#define REST_AFTER 4 /* steps without a guess */

static void draft_settle(st_arrival *arrival) {
    st_slot *slot = (st_slot *)arrival;
    st_streams *e = arrival->engine;
    e->n_drafting--;
    e->stats.n_beside += slot->in_flight > 0;
    e->n_drafting += st_draft_arrived(slot->draft);
    if (slot->in_flight == 0 && !st_draft_busy(slot->draft)) slot->waited_ns = st_now_ns() - slot->asked_ns;
}

int st_slot_draft_open(st_streams *e, st_slot *slot, st_chain *chain, stretto_error *err) {
    slot->drafted = (st_arrival){.listener.fn = st_arrive, .engine = e, .settle = draft_settle};
    st_worth_init(&slot->worth, right_at_first, ROW_COST_AT_FIRST);
    return st_draft_create(&slot->draft, chain, &slot->drafted.listener, err);
}

uint32_t st_guess_most(const st_streams *e, const st_slot *slot, uint32_t n_ids) {
    const st_job *job = slot->job;
    uint32_t most = e->o.guesses;
    uint64_t length = (uint64_t)job->n_prompt + n_ids;
    if (n_ids + 1 >= job->n_max || length >= e->o.n_ctx) return 0;
    if (most > job->n_max - n_ids - 1) most = job->n_max - n_ids - 1;
    return most < e->o.n_ctx - length ? most : (uint32_t)(e->o.n_ctx - length);
}

/* n guesses are taken for right; ahead: so is what it will guess of the token that comes after them. */
static void want(st_streams *e, st_slot *slot, const int32_t *guess, uint32_t n, bool ahead, uint32_t longest) {
    uint32_t most = st_guess_most(e, slot, slot->n_ids + n + ahead);
    if (most > longest) most = longest;
    st_draft_text text = {.prompt = slot->job->prompt,
                          .ids = slot->ids,
                          .guess = guess,
                          .n_prompt = slot->job->n_prompt,
                          .n_ids = slot->n_ids,
                          .n_guess = n};
    e->n_drafting += st_draft_want(slot->draft, &text, most ? most + ahead : 0);
}

void st_slot_draft_prompt(st_streams *e, st_slot *slot) {
    slot->n_guess = 0;
    if (slot->draft && st_worth_pays(&slot->worth, KIND)) want(e, slot, NULL, 0, true, e->o.guesses);
}

/* Of a slot with a model. A step that is in flight is taken for what the model says of it. */
static void ask_next(st_streams *e, st_slot *slot, uint64_t now) {
    uint32_t most = st_guess_most(e, slot, slot->n_ids + slot->in_flight);
    /* what was asked for is still to come */
    bool goes_on = slot->n_guess > 0 && (slot->expects || st_draft_behind(slot->draft));
    if (!goes_on || most == 0) slot->n_guess = most ? st_worth_length(&slot->worth, KIND, most) : 0;
    slot->asked_ns = now;
    slot->waited_ns = 0;
    if (!slot->n_guess) {
        st_draft_stop(slot->draft);
        return;
    }
    want(e, slot, NULL, 0, slot->in_flight > 0, slot->n_guess);
    if (slot->in_flight > 0) slot->latest->alone = false;
    int32_t made;
    bool nothing = !st_draft_busy(slot->draft) && st_draft_take(slot->draft, &made, 1) == 0;
    if (nothing) slot->n_guess = 0; /* its unit has failed, or the text is too long for it */
}

void st_slot_expect(st_streams *e, st_slot *slot, uint64_t now) {
    bool ahead = slot->in_flight > 0;
    if (slot->draft) {
        ask_next(e, slot, now);
        slot->expects = ahead && slot->n_guess > 0;
    } else {
        slot->expects = ahead && st_lookup_would(slot->lookup, st_guess_most(e, slot, slot->n_ids + slot->in_flight));
    }
}

bool st_slot_rests(const st_slot *slot) {
    return slot->n_plain >= REST_AFTER && slot->n_guess == 0 && !slot->expects;
}

void st_slot_draft_ahead(st_streams *e, st_slot *slot, const int32_t *guess, uint32_t n) {
    if (slot->draft && n > 0) want(e, slot, guess, n, true, slot->n_guess);
}

bool st_slot_draft_wait(const st_slot *slot) {
    return slot->draft && st_draft_busy(slot->draft) && !st_draft_behind(slot->draft);
}

void st_slot_learn(st_slot *slot, const st_flight *flight, uint32_t n, uint32_t right, uint64_t ns) {
    if (slot->lookup)
        st_lookup_learn(slot->lookup, n, right, ns);
    else if (n > 0)
        st_worth_learn(&slot->worth, KIND, n, right, ns + slot->waited_ns);
    else
        st_worth_learn_plain(&slot->worth, flight->alone, ns);
}
