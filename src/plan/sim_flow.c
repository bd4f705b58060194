/* SPDX-License-Identifier: MIT
 * Streams and calls: what goes into a call, whose turn it is, and what comes of it. The same rules as those of src/run,
 * which executes schedules. */
#include "plan/sim_impl.h"

#include "base/error.h"
#include "base/min.h"

#include <stdlib.h>

uint32_t sim_wanted(const sim *s, uint32_t slot) {
    return s->workload->generate - s->out->streams[s->slots[slot].stream].tokens;
}

/* ---- how long anything is read or decoded ---- */

static void count(double now, double *total, double *from, uint32_t *n, bool more) {
    if (more && (*n)++ == 0) *from = now;
    if (!more && --*n == 0) *total += now - *from;
}

static void count_reading(sim *s, bool more) {
    count(s->now_ns, &s->reading_ns, &s->reading_from, &s->n_reading, more);
}

static void count_decoding(sim *s, bool more) {
    count(s->now_ns, &s->decoding_ns, &s->decoding_from, &s->n_decoding, more);
}

/* ---- through the chunks ---- */

static uint32_t unit_of(const sim *s, const sim_call *call) {
    const sim_station *station = &s->stations[call->station];
    return st_schedule_unit(s->schedule, call->chunk, !station->decodes, station->replica);
}

static double boundary_ns(const sim *s, uint32_t from, uint32_t to, uint32_t tokens) {
    const st_cost_transfer *t =
        &s->costs->transfers[(size_t)s->units[from].table * s->costs->n_units + s->units[to].table];
    return from == to ? 0 : t->fixed_ns + t->token_ns * tokens;
}

/* Hands the call to the unit of its chunk; `from` is where the chunk before ran. */
static void pass_on(sim *s, uint32_t from, uint32_t index) {
    sim_call *call = &s->calls[index];
    uint32_t to = unit_of(s, call);
    double latency = boundary_ns(s, from, to, call->tokens), *link = &s->link_ns[call->chunk];
    double at = s->now_ns + latency;
    if (latency <= 0 && *link <= s->now_ns) {
        sim_enqueue(s, to, index);
        return;
    }
    if (at < *link) at = *link;
    *link = at;
    sim_arrive(s, at, index, SIM_NONE);
}

/* ---- making up calls ---- */

static uint32_t new_share(sim *s) {
    if (s->free_share == SIM_NONE) {
        uint32_t old = s->cap_shares, cap = old ? 2 * old : 256;
        sim_share *shares = realloc(s->shares, cap * sizeof *shares);
        if (!shares) {
            s->code = st_fail_memory(s->err, "a simulation's shares", (uint64_t)cap * sizeof *shares);
            return SIM_NONE;
        }
        s->shares = shares;
        s->cap_shares = cap;
        for (uint32_t i = cap; i-- > old;) {
            shares[i].next = s->free_share;
            s->free_share = i;
        }
    }
    uint32_t share = s->free_share;
    s->free_share = s->shares[share].next;
    return share;
}

/* The call waits until the one that the slot is in, which waits itself, is on its way: a prompt's parts keep their
 * order. */
static void follow(sim *s, uint32_t index, uint32_t slot) {
    const sim_call *before = &s->calls[s->slots[slot].latest];
    if (before->unmet == 0) return;
    uint32_t at = before->shares;
    while (s->shares[at].slot != slot) at = s->shares[at].next;
    s->shares[at].follower = index;
    s->calls[index].unmet++;
}

/* Sends a call that waits for nothing any more on its way, and those that follow it. */
static void release(sim *s, uint32_t index) {
    sim_enqueue(s, unit_of(s, &s->calls[index]), index);
    for (uint32_t at = s->calls[index].shares; at != SIM_NONE; at = s->shares[at].next) {
        uint32_t follower = s->shares[at].follower;
        s->shares[at].follower = SIM_NONE;
        if (follower != SIM_NONE && --s->calls[follower].unmet == 0) release(s, follower);
    }
}

static void add_share(sim *s, uint32_t index, sim_share share) {
    uint32_t at = new_share(s);
    if (at == SIM_NONE) return;
    sim_call *call = &s->calls[index];
    sim_slot *slot = &s->slots[share.slot];
    share.next = call->shares;
    share.follower = SIM_NONE;
    s->shares[at] = share;
    if (call->shares == SIM_NONE) call->stream = slot->stream;
    call->shares = at;
    call->tokens += share.rows;
    call->n_prompt += share.prompt ? share.rows : 0;
    call->wanted += share.prompt ? share.last : share.rows;
    if (!share.prompt && share.rows > 1) call->what = ST_SIM_VERIFY;
    slot->latest = index;
    slot->computed = false;
    slot->in_flight++;
}

/* The stream's next token is known, or chosen by a call on its way that this one can follow at once. */
static bool can_decode(const sim *s, uint32_t station, uint32_t slot) {
    const sim_slot *own = &s->slots[slot];
    if (own->state == SIM_FREE || own->station != station) return false;
    if (own->state == SIM_DECODING && own->in_flight == 0) return own->kv_ns <= s->now_ns && sim_draft_ready(s, slot);
    if (!s->schedule->host_beside) return false;
    if (!s->stations[station].decodes || own->in_flight != 1) return false;
    bool chooses = own->state == SIM_DECODING || own->n_read == s->workload->prompt;
    return chooses && sim_wanted(s, slot) > 1;
}

static void fill_decoding(sim *s, uint32_t station, uint32_t index, uint32_t cause) {
    sim_station *own = &s->stations[station];
    uint32_t first = own->next, n = 0;
    for (uint32_t i = 0; i < s->n_slots && n < s->schedule->batch && !s->code; i++) {
        uint32_t slot = (first + i) % s->n_slots;
        if (!can_decode(s, station, slot)) continue;
        uint32_t draft = sim_draft_length(s, slot);
        if (s->slots[slot].in_flight > 0 && !s->slots[slot].computed) {
            s->slots[slot].fed = index;
            s->calls[index].taken++;
            s->calls[index].unmet++;
        }
        add_share(s, index, (sim_share){.slot = slot, .rows = 1 + draft});
        sim_draft_submitted(s, slot, draft, cause);
        own->next = (slot + 1) % s->n_slots;
        n++;
    }
}

static uint32_t next_reader(const sim *s, uint32_t station, uint32_t index) {
    uint32_t first = SIM_NONE;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        const sim_slot *slot = &s->slots[i];
        if (slot->state != SIM_READING || slot->station != station || slot->n_read == s->workload->prompt) continue;
        if (slot->in_flight >= s->prompt_depth || (slot->in_flight > 0 && slot->latest == index)) continue;
        if (first == SIM_NONE || slot->stream < s->slots[first].stream) first = i;
    }
    return first;
}

static void fill_prompts(sim *s, uint32_t station, uint32_t index) {
    uint32_t room = st_min_u32(s->schedule->micro_batch, s->workload->prompt + s->workload->generate); /* a context's */
    uint32_t most = s->schedule->batch > 1 ? s->n_slots : 1 + s->schedule->longest_draft; /* rows with logits */
    while (room > 0 && s->calls[index].wanted < most && !s->code) {
        uint32_t slot = next_reader(s, station, index);
        if (slot == SIM_NONE) return;
        uint32_t left = s->workload->prompt - s->slots[slot].n_read, n = st_min_u32(left, room);
        if (s->slots[slot].n_read == 0) count_reading(s, true);
        if (s->slots[slot].in_flight > 0) follow(s, index, slot);
        add_share(s, index, (sim_share){.slot = slot, .rows = n, .prompt = true, .last = n == left});
        s->slots[slot].n_read += n;
        room -= n;
    }
}

/* False when there is nothing to do now. Where calls have several streams, prompts share them, too; otherwise prompts
 * and decoding streams take turns. */
static bool fill(sim *s, uint32_t station, uint32_t index, uint32_t cause) {
    sim_station *own = &s->stations[station];
    if (s->schedule->batch > 1) {
        fill_decoding(s, station, index, cause);
        fill_prompts(s, station, index);
        return s->calls[index].shares != SIM_NONE;
    }
    if (own->prompt_turn) fill_prompts(s, station, index);
    if (s->calls[index].shares == SIM_NONE) fill_decoding(s, station, index, cause);
    if (s->calls[index].shares == SIM_NONE) fill_prompts(s, station, index);
    bool any = s->calls[index].shares != SIM_NONE;
    own->prompt_turn = any && s->calls[index].n_prompt == 0;
    return any;
}

static bool submit_one(sim *s, uint32_t station, uint32_t cause) {
    uint32_t index = sim_call_new(s);
    if (index == SIM_NONE) return false;
    s->calls[index].station = station;
    s->calls[index].what = ST_SIM_DECODE;
    if (!fill(s, station, index, cause)) {
        sim_call_free(s, index);
        return false;
    }
    sim_call *call = &s->calls[index];
    if (call->n_prompt > 0) call->what = ST_SIM_PREFILL;
    call->cause = cause;
    s->stations[station].in_flight++;
    if (call->unmet == 0) release(s, index);
    return true;
}

void sim_flow_submit(sim *s, uint32_t cause) {
    for (uint32_t i = 0; i < s->n_stations; i++) {
        while (s->stations[i].in_flight < s->depth && !s->code && submit_one(s, i, cause)) continue;
    }
}

/* ---- streams ---- */

static uint32_t least_station(const sim *s, bool decodes) {
    uint32_t least = SIM_NONE;
    for (uint32_t i = 0; i < s->n_stations; i++) {
        const sim_station *station = &s->stations[i];
        if (!(decodes ? station->decodes : station->reads)) continue;
        if (least == SIM_NONE || station->n_slots < s->stations[least].n_slots) least = i;
    }
    return least;
}

static void admit(sim *s) {
    for (uint32_t i = 0; i < s->n_slots && s->next_stream < s->workload->streams; i++) {
        sim_slot *slot = &s->slots[i];
        if (slot->state != SIM_FREE) continue;
        *slot = (sim_slot){.state = SIM_READING,
                           .stream = s->next_stream++,
                           .fed = SIM_NONE,
                           .timed = slot->timed,
                           .drafting = slot->drafting,
                           .vain = slot->drafting};
        slot->station = least_station(s, false);
        s->stations[slot->station].n_slots++;
        sim_draft_begin(s, i);
    }
}

static void add_tokens(sim *s, uint32_t slot, uint32_t n) {
    st_sim_stream *stream = &s->out->streams[s->slots[slot].stream];
    if (stream->tokens == 0) {
        stream->first_ns = s->now_ns;
        count_reading(s, false);
        count_decoding(s, true);
    } else if (s->now_ns - stream->last_ns > stream->worst_gap_ns) {
        stream->worst_gap_ns = s->now_ns - stream->last_ns;
    }
    stream->last_ns = s->now_ns;
    stream->tokens += n;
    s->out->end_ns = s->now_ns;
    if (sim_wanted(s, slot) > 0) return;
    count_decoding(s, false);
    s->n_done++;
    s->slots[slot].state = SIM_FREE;
    s->stations[s->slots[slot].station].n_slots--;
}

/* The prompt is read: the stream goes where it is to be decoded. */
static void begin_decoding(sim *s, uint32_t slot, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    own->state = SIM_DECODING;
    if (s->stations[own->station].decodes) return;
    uint32_t from = st_schedule_unit(s->schedule, 0, true, 0), to = st_schedule_unit(s->schedule, 0, false, 0);
    const st_cost_transfer *t =
        &s->costs->transfers[(size_t)s->units[from].table * s->costs->n_units + s->units[to].table];
    s->stations[own->station].n_slots--;
    own->station = least_station(s, true);
    s->stations[own->station].n_slots++;
    if (!(t->kv_token_ns > 0)) return;
    own->kv_ns = s->now_ns + t->kv_token_ns * s->workload->prompt * s->schedule->n_chunks;
    own->kv_cause = cause;
    sim_arrive(s, own->kv_ns, SIM_NONE, slot);
}

/* given: tokens that the verification of a draft gave; 0: there was none. */
static void settle_share(sim *s, const sim_share *share, uint32_t given, uint32_t cause) {
    sim_slot *slot = &s->slots[share->slot];
    slot->in_flight--;
    if (share->prompt && !share->last) return;
    if (given == 0) given = 1;
    if (share->prompt) begin_decoding(s, share->slot, cause);
    add_tokens(s, share->slot, given);
    sim_draft_settled(s, share->slot, given, cause);
}

static void settle(sim *s, uint32_t index) {
    sim_call call = s->calls[index];
    sim_call_free(s, index);
    s->stations[call.station].in_flight--;
    for (uint32_t at = call.shares; at != SIM_NONE && !s->code;) {
        sim_share share = s->shares[at];
        s->shares[at].next = s->free_share;
        s->free_share = at;
        settle_share(s, &share, call.given, call.cause);
        at = share.next;
    }
    admit(s);
    sim_flow_submit(s, call.cause);
}

/* ---- what the units tell ---- */

/* A call waits for nothing any more but the way of its tokens, from where they were chosen to its first chunk. */
static void feed(sim *s, uint32_t from, uint32_t index) {
    double latency = boundary_ns(s, from, unit_of(s, &s->calls[index]), s->calls[index].taken);
    if (latency > 0)
        sim_arrive(s, s->now_ns + latency, index, SIM_NONE);
    else
        release(s, index);
}

/* The call's last chunk has ended: calls that were waiting for its tokens can go, and the host looks at it. */
static void computed(sim *s, uint32_t unit, uint32_t index) {
    for (uint32_t at = s->calls[index].shares; at != SIM_NONE && !s->code; at = s->shares[at].next) {
        sim_slot *slot = &s->slots[s->shares[at].slot];
        uint32_t fed = slot->fed;
        slot->computed = slot->latest == index;
        if (fed == SIM_NONE || (s->shares[at].prompt && !s->shares[at].last)) continue;
        slot->fed = SIM_NONE;
        s->calls[fed].cause = s->calls[index].cause;
        if (--s->calls[fed].unmet == 0) feed(s, unit, fed);
    }
    sim_call *call = &s->calls[index];
    if (call->what == ST_SIM_VERIFY) call->given = sim_draft_verify(s, s->shares[call->shares].slot);
    sim_enqueue(s, s->n_units, index);
}

void sim_flow_done(sim *s, uint32_t unit, uint32_t index) {
    sim_call *call = &s->calls[index];
    if (unit == s->n_units) {
        settle(s, index);
    } else if (call->what == ST_SIM_DRAFT) {
        sim_draft_done(s, index);
    } else if (call->chunk + 1 < s->schedule->n_chunks) {
        call->chunk++;
        pass_on(s, unit, index);
    } else {
        computed(s, unit, index);
    }
}

void sim_flow_arrived(sim *s, const sim_arrival *arrival) {
    if (arrival->call != SIM_NONE && s->calls[arrival->call].chunk == 0) {
        release(s, arrival->call); /* it was fed */
    } else if (arrival->call != SIM_NONE) {
        sim_enqueue(s, unit_of(s, &s->calls[arrival->call]), arrival->call);
    } else {
        sim_flow_submit(s, s->slots[arrival->slot].kv_cause);
    }
}

/* ---- the beginning ---- */

static void make_stations(sim *s) {
    const st_schedule *schedule = s->schedule;
    bool handover = schedule->kind == ST_SCHEDULE_HANDOVER;
    s->n_stations = handover ? 2 : schedule->kind == ST_SCHEDULE_REPLICAS ? s->n_units : 1;
    for (uint32_t i = 0; i < s->n_stations; i++)
        s->stations[i] = (sim_station){.replica = i, .reads = !handover || i == 0, .decodes = !handover || i == 1};
    uint32_t calls =
        schedule->kind == ST_SCHEDULE_STAGED ? (schedule->streams + schedule->batch - 1) / schedule->batch : 1;
    s->prompt_depth = schedule->pipelined ? st_min_u32(st_schedule_stages(schedule) + 1, ST_PLAN_CALLS_MAX) : 1;
    s->depth = st_min_u32(schedule->host_beside ? 2 * calls : calls, ST_PLAN_CALLS_MAX);
    if (schedule->draft != ST_DRAFT_NONE && s->depth < 2) s->depth = 2;
    if (s->depth < s->prompt_depth) s->depth = s->prompt_depth;
}

void sim_flow_begin(sim *s) {
    make_stations(s);
    s->free_share = SIM_NONE;
    s->n_slots = st_min_u32(s->schedule->streams, s->workload->streams);
    s->slots = calloc(s->n_slots, sizeof *s->slots);
    if (!s->slots) {
        s->code = st_fail_memory(s->err, "a simulation's streams", s->n_slots * sizeof *s->slots);
        return;
    }
    admit(s);
    sim_flow_submit(s, SIM_NONE);
}
