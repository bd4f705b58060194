/* SPDX-License-Identifier: MIT
 * What goes into a pass: whose turn it is, at each station. */
#include "run/streams_impl.h"

#include "base/clock.h"

static st_flight *free_flight(const st_streams *e, const st_station *station) {
    for (uint32_t i = 0; i < e->o.depth; i++)
        if (!station->flights[i].busy) return &station->flights[i];
    return NULL;
}

static int32_t pick_id(void *arg, const float *logits, int32_t argmax) {
    (void)argmax;
    st_slot *slot = arg;
    int32_t id = st_sampler_pick(slot->sampler, logits);
    st_sampler_accept(slot->sampler, id);
    return id;
}

static void add_share(st_flight *f, st_slot *slot, uint32_t n_rows, uint32_t n_wanted, bool prompt) {
    f->shares[f->n_shares++] = (st_share){.slot = slot,
                                          .first_row = st_pass_rows(f->pass) - n_rows,
                                          .n_rows = n_rows,
                                          .n_wanted = n_wanted,
                                          .first_wanted = st_pass_wanted(f->pass) - n_wanted,
                                          .prompt = prompt};
    slot->latest = f;
    slot->in_flight++;
}

/* ---- decoding ---- */

/* Whether a step may be submitted while the stream's last one is in flight. */
static bool goes_ahead(const st_streams *e, const st_slot *slot) {
    return e->o.guesses ? slot->state == ST_SLOT_DECODING && st_slot_rests(slot) : e->o.ahead;
}

/* Whether the stream's next id is known, and what a model guesses after it (if that is waited for), or chosen by a pass
 * in flight that this one can follow. */
static bool can_decode(const st_streams *e, const st_station *station, const st_slot *slot) {
    if (slot->station != station) return false;
    if (slot->state == ST_SLOT_DECODING && slot->in_flight == 0) return !st_slot_draft_wait(slot);
    if (!goes_ahead(e, slot) || !station->decodes || slot->in_flight != 1) return false;
    bool chooses =
        slot->state == ST_SLOT_DECODING || (slot->state == ST_SLOT_READING && slot->n_read == slot->job->n_prompt);
    return chooses && slot->n_ids + 1 < slot->job->n_max && slot->stream->n_past < e->o.n_ctx;
}

/* Guesses what follows the last id, which is guess[0]; returns how many rows that makes. */
static uint32_t add_guess(const st_streams *e, st_slot *slot, int32_t *guess) {
    uint32_t most = st_guess_most(e, slot, slot->n_ids), n;
    if (slot->lookup)
        n = st_lookup_guess(slot->lookup, guess + 1, most);
    else
        n = st_draft_take(slot->draft, guess + 1, most < slot->n_guess ? most : slot->n_guess);
    if (n > 0) slot->n_plain = 0;
    slot->expects = false;
    return 1 + n;
}

static void add_decoding(const st_streams *e, st_flight *f, st_slot *slot) {
    uint32_t n = 1;
    f->alone = !slot->draft || !st_draft_under_way(slot->draft);
    if (slot->in_flight > 0) {
        st_pass_add_fed(f->pass, slot->stream, slot->latest->pass);
    } else {
        f->guess[0] = slot->ids[slot->n_ids - 1];
        if (e->o.guesses) n = add_guess(e, slot, f->guess);
        st_pass_add(f->pass, slot->stream, f->guess, n, n);
    }
    if (slot->sampler && n == 1) st_pass_pick(f->pass, pick_id, slot);
    add_share(f, slot, n, n, false);
}

static void fill_decoding(const st_streams *e, st_station *station, st_flight *f) {
    uint32_t n = e->o.n_streams, start = station->next;
    for (uint32_t i = 0; i < n && f->n_shares < e->o.rows; i++) {
        st_slot *slot = &e->slots[(start + i) % n];
        if (!can_decode(e, station, slot)) continue;
        add_decoding(e, f, slot);
        station->next = (start + i + 1) % n;
    }
}

/* ---- reading prompts ---- */

static bool in_pass(const st_flight *f, const st_slot *slot) {
    return slot->in_flight > 0 && slot->latest == f;
}

/* The earliest job whose prompt can go on; NULL when there is none. */
static st_slot *next_reader(const st_streams *e, const st_station *station, const st_flight *f) {
    st_slot *first = NULL;
    for (uint32_t i = 0; i < e->o.n_streams; i++) {
        st_slot *slot = &e->slots[i];
        if (slot->state != ST_SLOT_READING || slot->station != station || slot->n_read == slot->job->n_prompt) continue;
        if (slot->in_flight >= e->o.prompt_depth || in_pass(f, slot)) continue;
        if (!first || slot->index < first->index) first = slot;
    }
    return first;
}

static void add_prompt(st_flight *f, st_slot *slot, uint32_t n) {
    uint32_t left = slot->job->n_prompt - slot->n_read;
    uint32_t wanted = n == left && slot->job->n_max > 0 ? 1 : 0;
    if (slot->n_read == 0) slot->result.prefill_ns = st_now_ns(); /* when it began, until it is done */
    if (slot->in_flight > 0) st_pass_follow(f->pass, slot->latest->pass);
    st_pass_add(f->pass, slot->stream, slot->job->prompt + slot->n_read, n, wanted);
    if (wanted && slot->sampler) st_pass_pick(f->pass, pick_id, slot);
    slot->n_read += n;
    add_share(f, slot, n, wanted, true);
}

static void fill_prompts(const st_streams *e, const st_station *station, st_flight *f) {
    uint32_t room = e->o.prompt_rows;
    while (room > 0 && st_pass_wanted(f->pass) < e->max_wanted) {
        st_slot *slot = next_reader(e, station, f);
        if (!slot) return;
        uint32_t left = slot->job->n_prompt - slot->n_read, n = left < room ? left : room;
        add_prompt(f, slot, n);
        room -= n;
    }
}

/* ---- submitting ---- */

/* False when there is nothing to do now. */
static bool fill(const st_streams *e, st_station *station, st_flight *f) {
    st_pass_clear(f->pass);
    f->n_shares = 0;
    if (e->o.mix) {
        fill_decoding(e, station, f);
        fill_prompts(e, station, f);
        return f->n_shares > 0;
    }
    if (station->prompt_turn) fill_prompts(e, station, f);
    if (f->n_shares == 0) fill_decoding(e, station, f);
    if (f->n_shares == 0) fill_prompts(e, station, f);
    station->prompt_turn = f->n_shares > 0 && !f->shares[0].prompt;
    return f->n_shares > 0;
}

static void submit(st_streams *e, st_flight *f) {
    stretto_error error;
    f->busy = true;
    e->in_flight++;
    int code = st_pass_submit(f->pass, &error);
    if (code) {
        st_flight_failed(f, code, &error);
        return;
    }
    if (!st_pass_listen(f->pass, &f->arrival.listener)) st_arrive(&f->arrival.listener, STRETTO_OK, NULL);
    for (uint32_t i = 0; i < f->n_shares; i++)
        if (!f->shares[i].prompt) st_slot_draft_ahead(e, f->shares[i].slot, f->guess + 1, f->shares[i].n_rows - 1);
}

void st_streams_submit(st_streams *e) {
    for (uint32_t i = 0; i < e->o.n_stations; i++) {
        st_station *station = &e->stations[i];
        st_flight *f;
        while (!station->dead && (f = free_flight(e, station)) && fill(e, station, f)) submit(e, f);
    }
}

void st_flights_prepare(st_streams *e, st_station *station) {
    for (uint32_t i = 0; i < e->o.depth; i++) {
        station->flights[i].arrival = (st_arrival){.listener.fn = st_arrive, .engine = e, .settle = st_flight_settle};
        station->flights[i].station = station;
    }
}
