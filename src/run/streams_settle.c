/* SPDX-License-Identifier: MIT
 * What came out of a pass: the ids of each stream, its end, and where a unit has failed. */
#include "run/streams_impl.h"

#include "base/clock.h"
#include "base/error.h"

/* ---- ends ---- */

static void report(st_streams *e, const st_job_result *result) {
    if (e->mute || !e->events->on_result) return;
    if (e->events->on_result(e->events->arg, result)) e->mute = e->cancelled = true;
}

void st_job_end(st_streams *e, uint32_t job, enum st_finish finish, const stretto_error *error) {
    st_job_result result = {
        .job = job, .finish = finish, .error = error, .wait_ns = st_now_ns() - e->handed_ns, .ids = NULL};
    report(e, &result);
}

/* Reports the stream of a slot and makes the slot free. */
static void release(st_streams *e, st_slot *slot) {
    st_job_result *r = &slot->result;
    r->job = slot->index;
    r->finish = slot->finish;
    r->ids = slot->ids;
    r->n_ids = slot->n_ids;
    r->error = slot->finish == ST_FINISH_ERROR ? &slot->error : NULL;
    r->wait_ns = slot->taken_ns - e->handed_ns;
    if (slot->n_ids > 0) {
        r->first_token_ns = slot->first_ns - e->handed_ns;
        r->decode_ns = slot->last_ns - slot->first_ns;
    } else if (slot->job->n_max > 0 || slot->finish != ST_FINISH_LENGTH) {
        r->prefill_ns = 0; /* it never came to an end */
    }
    e->stats.n_decoded += slot->n_ids;
    slot->state = ST_SLOT_FREE;
    report(e, r);
}

void st_slot_end(st_streams *e, st_slot *slot, enum st_finish finish, const stretto_error *error) {
    if (slot->state == ST_SLOT_FREE || slot->state == ST_SLOT_ENDED) return;
    slot->state = ST_SLOT_ENDED;
    slot->finish = finish;
    slot->station->n_slots--;
    if (slot->draft) st_draft_stop(slot->draft);
    if (error) slot->error = *error;
    if (error && !e->failed.code) e->failed = *error;
    if (slot->in_flight == 0) release(e, slot);
}

/* A station whose unit fails is used no more, and what it had ends with its reason. */
static void station_die(st_streams *e, st_station *station, int code, const stretto_error *error) {
    station->dead = true;
    if (!e->unit_error.code) {
        e->unit_error = *error;
        e->unit_error.code = code;
    }
    for (uint32_t i = 0; i < e->o.n_streams; i++)
        if (e->slots[i].station == station) st_slot_end(e, &e->slots[i], ST_FINISH_ERROR, error);
}

/* ---- ids ---- */

/* length: positions of the stream that are settled. */
static void take_id(st_streams *e, st_slot *slot, int32_t id, uint32_t length, uint64_t now) {
    if (slot->n_ids == 0) slot->first_ns = now;
    slot->ids[slot->n_ids++] = id;
    slot->last_ns = now;
    if (slot->lookup) st_lookup_add(slot->lookup, id);
    int enough = e->events->on_id ? e->events->on_id(e->events->arg, slot->index, id) : 0;
    if (e->o.tok && st_tokenizer_is_end(e->o.tok, id))
        st_slot_end(e, slot, ST_FINISH_END, NULL);
    else if (enough)
        st_slot_end(e, slot, ST_FINISH_STOPPED, NULL);
    else if (slot->n_ids == slot->job->n_max)
        st_slot_end(e, slot, ST_FINISH_LENGTH, NULL);
    else if (length == e->o.n_ctx)
        st_slot_end(e, slot, ST_FINISH_CONTEXT, NULL);
}

static int32_t choose(const st_slot *slot, const st_pass *pass, uint32_t wanted) {
    if (!slot->sampler) return st_pass_chosen(pass, wanted);
    int32_t id = st_sampler_pick(slot->sampler, st_pass_logits(pass, wanted));
    st_sampler_accept(slot->sampler, id);
    return id;
}

/* How long the units were at work on a pass. */
static uint64_t flight_ns(const st_flight *f) {
    uint64_t sum = 0, start, end;
    for (uint32_t i = 0; i < f->station->placement->n_chunks; i++) {
        st_pass_times(f->pass, i, &start, &end);
        sum += end - start;
    }
    return sum;
}

/* Ends the share's stream when n of its rows came to no numbers. */
static bool lost(st_streams *e, const st_flight *f, const st_share *share, uint32_t first, uint32_t n) {
    stretto_error error = {0};
    if (!st_pass_check(f->pass, share->first_row + first, n, &error)) return false;
    st_slot_end(e, share->slot, ST_FINISH_ERROR, &error);
    return true;
}

/* A step with a guess: takes ids as long as that was right, and one more, which a plain step would have given next. */
static void verify(st_streams *e, st_flight *f, const st_share *share, uint64_t now) {
    st_slot *slot = share->slot;
    uint32_t start = slot->stream->n_past - share->n_rows, right = 0;
    e->stats.n_verified++;
    e->stats.n_guessed += share->n_rows - 1;
    for (;; right++) {
        if (lost(e, f, share, right, 1)) return;
        int32_t id = choose(slot, f->pass, share->first_wanted + right);
        take_id(e, slot, id, start + right + 1, now);
        if (slot->state == ST_SLOT_ENDED || slot->state == ST_SLOT_FREE) return;
        if (right + 1 == share->n_rows || id != f->guess[right + 1]) break;
        e->stats.n_right++;
    }
    /* Never more rows than the stream was opened for, so this cannot be refused. */
    st_stream_truncate(slot->stream, start + right + 1, NULL);
    e->stats.n_wasted += share->n_rows - right - 1;
    st_slot_learn(slot, f, share->n_rows - 1, right, flight_ns(f));
    st_slot_expect(e, slot, now);
}

/* The id of a step without a guess. What is in flight beyond it is one row that it feeds. */
static void settle_step(st_streams *e, const st_flight *f, const st_share *share, uint64_t now) {
    st_slot *slot = share->slot;
    e->stats.n_ahead += slot->in_flight > 0;
    take_id(e, slot, st_pass_chosen(f->pass, share->first_wanted), slot->stream->n_past - slot->in_flight, now);
    if (!e->o.guesses) return;
    e->stats.n_verified++;
    if (slot->state != ST_SLOT_DECODING) return;
    slot->n_plain++;
    st_slot_learn(slot, f, 0, 0, flight_ns(f));
    st_slot_expect(e, slot, now);
}

/* ---- stations ---- */

/* The prompt is read: the stream goes where it is to be decoded. */
static bool begin_decoding(st_streams *e, st_slot *slot) {
    slot->state = ST_SLOT_DECODING;
    if (slot->station->decodes) return true;
    st_station *to = st_station_for(e, false);
    if (!to) {
        st_slot_end(e, slot, ST_FINISH_ERROR, &e->unit_error);
        return false;
    }
    slot->station->n_slots--;
    to->n_slots++;
    slot->station = to;
    return true;
}

static void settle_prompt(st_streams *e, st_flight *f, const st_share *share, uint64_t now) {
    st_slot *slot = share->slot;
    e->stats.n_prompt += share->n_rows;
    bool last =
        slot->job->n_max > 0 ? share->n_wanted > 0 : slot->n_read == slot->job->n_prompt && slot->in_flight == 0;
    if (!last) return;
    slot->result.prefill_ns = now - slot->result.prefill_ns;
    if (slot->job->n_max == 0) {
        st_slot_end(e, slot, ST_FINISH_LENGTH, NULL);
    } else if (begin_decoding(e, slot)) {
        take_id(e, slot, st_pass_chosen(f->pass, share->first_wanted), slot->stream->n_past - slot->in_flight, now);
        if (e->o.guesses && slot->state == ST_SLOT_DECODING) st_slot_expect(e, slot, now);
    }
}

static void settle_share(st_streams *e, st_flight *f, const st_share *share, uint64_t now) {
    st_slot *slot = share->slot;
    slot->in_flight--;
    if (slot->state == ST_SLOT_ENDED) {
        e->stats.n_wasted += share->n_rows;
        if (slot->in_flight == 0) release(e, slot);
    } else if (!share->prompt && share->n_rows > 1) {
        verify(e, f, share, now);
    } else if (lost(e, f, share, 0, share->n_rows)) {
        e->stats.n_wasted += share->n_rows;
    } else if (share->prompt) {
        settle_prompt(e, f, share, now);
    } else {
        settle_step(e, f, share, now);
    }
}

static void settle_failed(st_streams *e, const st_flight *f) {
    for (uint32_t i = 0; i < f->n_shares; i++) {
        st_slot *slot = f->shares[i].slot;
        if (--slot->in_flight == 0 && slot->state == ST_SLOT_ENDED) release(e, slot);
    }
}

void st_flight_failed(st_flight *f, int code, const stretto_error *error) {
    st_streams *e = f->arrival.engine;
    f->busy = false;
    e->in_flight--;
    station_die(e, f->station, code, error);
    settle_failed(e, f);
}

static void show(const st_streams *e, const st_flight *f) {
    uint64_t start[ST_MAX_CHUNKS], end[ST_MAX_CHUNKS];
    if (!e->events->on_pass || f->n_shares == 0) return;
    st_pass_seen seen = {.station = (uint32_t)(f->station - e->stations),
                         .job = f->shares[0].slot->index,
                         .n_rows = st_pass_rows(f->pass),
                         .n_wanted = st_pass_wanted(f->pass),
                         .start_ns = start,
                         .end_ns = end};
    for (uint32_t i = 0; i < f->n_shares; i++) seen.n_prompt += f->shares[i].prompt ? f->shares[i].n_rows : 0;
    for (uint32_t i = 0; i < e->o.n_chunks; i++) st_pass_times(f->pass, i, &start[i], &end[i]);
    e->events->on_pass(e->events->arg, &seen);
}

void st_flight_settle(st_arrival *arrival) {
    st_flight *f = (st_flight *)arrival;
    st_streams *e = arrival->engine;
    stretto_error error = {0};
    int code = st_pass_wait(f->pass, &error);
    if (code) {
        st_flight_failed(f, code, &error);
        return;
    }
    uint64_t now = st_now_ns();
    f->busy = false;
    e->in_flight--;
    e->stats.n_passes++;
    e->stats.n_rows += st_pass_rows(f->pass);
    show(e, f);
    for (uint32_t i = 0; i < f->n_shares; i++) settle_share(e, f, &f->shares[i], now);
}
