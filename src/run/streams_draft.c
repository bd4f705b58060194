/* SPDX-License-Identifier: MIT
 * What a model that guesses is asked for, and when: at once after each pass, and for the pass after it while that one
 * is verified. */
#include "run/streams_impl.h"

uint32_t st_guess_most(const st_streams *e, const st_slot *slot, uint32_t n_ids) {
    const st_job *job = slot->job;
    uint32_t most = e->o.guesses;
    uint64_t length = (uint64_t)job->n_prompt + n_ids;
    if (n_ids + 1 >= job->n_max || length >= e->o.n_ctx) return 0;
    if (most > job->n_max - n_ids - 1) most = job->n_max - n_ids - 1;
    return most < e->o.n_ctx - length ? most : (uint32_t)(e->o.n_ctx - length);
}

void st_slot_draft(st_streams *e, st_slot *slot, const int32_t *guess, uint32_t n) {
    if (!slot->draft) return;
    /* Ahead of what is in flight its own guess of the token that comes of that has to be made as well. */
    uint32_t unknown = slot->in_flight > 0 || slot->state == ST_SLOT_READING;
    uint32_t most = st_guess_most(e, slot, slot->n_ids + n + unknown);
    st_draft_text text = {.prompt = slot->job->prompt,
                          .ids = slot->ids,
                          .guess = guess,
                          .n_prompt = slot->job->n_prompt,
                          .n_ids = slot->n_ids,
                          .n_guess = n};
    e->n_drafting += st_draft_want(slot->draft, &text, most ? most + unknown : 0);
}

void st_draft_settle(st_arrival *arrival) {
    st_slot *slot = (st_slot *)arrival;
    st_streams *e = arrival->engine;
    e->n_drafting--;
    e->stats.n_beside += slot->in_flight > 0;
    e->n_drafting += st_draft_arrived(slot->draft);
}
