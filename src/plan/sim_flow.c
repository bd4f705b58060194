/* SPDX-License-Identifier: MIT
 * Streams: prompts, steps, drafts, and whose turn it is. */
#include "plan/sim_impl.h"

#include "base/error.h"

#include <stdlib.h>

static uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t slot_of(const sim_group *group, uint32_t i) {
    return group->first + i * group->stride;
}

static uint32_t group_of(const sim *s, uint32_t slot) {
    const st_schedule *schedule = s->schedule;
    if (schedule->kind != ST_SCHEDULE_REPLICAS) return slot / schedule->batch;
    return slot % s->n_units + s->n_units * (slot / s->n_units / schedule->batch);
}

static uint32_t replica_of(const sim *s, uint32_t slot) {
    return s->schedule->kind == ST_SCHEDULE_REPLICAS ? slot % s->n_units : 0;
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

/* ---- calls through the chunks ---- */

static double boundary_ns(const sim *s, uint32_t from, uint32_t to, uint32_t tokens) {
    if (from == to) return 0;
    const st_cost_transfer *t =
        &s->costs->transfers[(size_t)s->units[from].table * s->costs->n_units + s->units[to].table];
    return t->fixed_ns + t->token_ns * tokens;
}

/* Hands the call to the unit of its chunk; `from` is where the chunk before ran. */
static void pass(sim *s, uint32_t from, uint32_t index) {
    sim_call *call = &s->calls[index];
    uint32_t to = st_schedule_unit(s->schedule, call->chunk, call->what == ST_SIM_PREFILL, call->replica);
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

static uint32_t decode_unit(const sim *s, uint32_t replica) {
    return st_schedule_unit(s->schedule, 0, false, replica);
}

static void start_prefill(sim *s, uint32_t slot, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    do {
        uint32_t index = sim_call_new(s);
        if (index == SIM_NONE) return;
        sim_call *call = &s->calls[index];
        call->what = ST_SIM_PREFILL;
        call->slot = slot;
        call->stream = own->stream;
        call->tokens = min_u32(own->prompt_left, s->schedule->micro_batch);
        call->replica = replica_of(s, slot);
        call->cause = cause;
        own->prompt_left -= call->tokens;
        call->last = own->prompt_left == 0;
        sim_enqueue(s, st_schedule_unit(s->schedule, 0, true, call->replica), index);
    } while (s->schedule->pipelined && own->prompt_left > 0);
}

static void admit(sim *s, uint32_t slot, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    *own = (sim_slot){.stream = SIM_NONE};
    if (s->next_stream == s->workload->streams) return;
    own->stream = s->next_stream++;
    own->prompt_left = s->workload->prompt;
    count_reading(s, true);
    start_prefill(s, slot, cause);
}

/* ---- steps ---- */

static void start_host(sim *s, uint32_t group, uint32_t slot, uint32_t stream, uint32_t tokens, double ns,
                       enum st_sim_what what, uint32_t cause) {
    uint32_t index = sim_call_new(s);
    if (index == SIM_NONE) return;
    sim_call *call = &s->calls[index];
    call->what = what;
    call->group = group;
    call->slot = slot;
    call->stream = stream;
    call->tokens = tokens;
    call->host_ns = ns;
    call->cause = cause;
    sim_host(s, index);
}

/* Choosing n tokens, and, unless that is done beside, their text. */
static void start_choice(sim *s, uint32_t group, uint32_t slot, uint32_t stream, uint32_t n, double more,
                         uint32_t cause) {
    const st_cost_host *host = &s->costs->host;
    double each = host->choose_ns + (s->schedule->host_beside ? 0 : host->text_ns);
    start_host(s, group, slot, stream, n, n * each + more, ST_SIM_CHOOSE, cause);
}

static void make_text(sim *s, uint32_t stream, uint32_t n, uint32_t cause) {
    if (s->schedule->host_beside && s->costs->host.text_ns > 0)
        start_host(s, SIM_NONE, SIM_NONE, stream, n, n * s->costs->host.text_ns, ST_SIM_TEXT, cause);
}

/* Tokens that the stream still has to generate. */
static uint32_t wanted(const sim *s, uint32_t slot) {
    return s->workload->generate - s->out->streams[s->slots[slot].stream].tokens;
}

static uint32_t draft_length(const sim *s, const sim_group *group) {
    if (s->schedule->draft == ST_DRAFT_NONE) return 0;
    return min_u32(s->schedule->longest_draft, wanted(s, group->first) - 1);
}

static uint32_t start_draft(sim *s, uint32_t g, uint32_t tokens, uint32_t cause) {
    uint32_t index = sim_call_new(s);
    if (index == SIM_NONE) return index;
    sim_call *call = &s->calls[index];
    call->what = ST_SIM_DRAFT;
    call->group = g;
    call->stream = s->slots[s->groups[g].first].stream;
    call->tokens = tokens;
    call->cause = cause;
    sim_enqueue(s, s->schedule->draft_unit, index);
    return index;
}

/* A call of all ready slots of the group. */
static void start_decode(sim *s, uint32_t g, uint32_t draft, uint32_t cause) {
    sim_group *group = &s->groups[g];
    uint32_t index = sim_call_new(s);
    if (index == SIM_NONE) return;
    sim_call *call = &s->calls[index];
    call->what = draft ? ST_SIM_VERIFY : ST_SIM_DECODE;
    call->group = g;
    call->stream = SIM_NONE;
    call->tokens = draft;
    call->replica = group->replica;
    call->cause = cause;
    group->in_flight = true;
    group->draft = draft;
    for (uint32_t i = 0; i < group->n; i++) {
        sim_slot *slot = &s->slots[slot_of(group, i)];
        if (!slot->ready) continue;
        slot->ready = false;
        slot->in_call = true;
        if (call->stream == SIM_NONE) call->stream = slot->stream;
        call->tokens++;
    }
    sim_enqueue(s, decode_unit(s, group->replica), index);
    uint32_t left = draft ? wanted(s, group->first) : 0;
    bool ahead = s->schedule->draft == ST_DRAFT_MODEL && left > draft + 2; /* the draft, the token after it, one more */
    if (ahead && !s->code) { /* the token after the draft has to be guessed, too */
        group->ahead = start_draft(s, g, min_u32(s->schedule->longest_draft, left - draft - 2) + 1, cause);
        group->ahead_done = false;
    }
}

/* Begins the group's next step, or its draft, where all its streams are ready; where prompts are read elsewhere it does
 * not wait for those still being read. */
static void start_step(sim *s, uint32_t g, uint32_t cause) {
    sim_group *group = &s->groups[g];
    uint32_t n_ready = 0, n_reading = 0;
    for (uint32_t i = 0; i < group->n; i++) {
        const sim_slot *slot = &s->slots[slot_of(group, i)];
        n_ready += slot->ready;
        n_reading += slot->stream != SIM_NONE && !slot->ready;
    }
    bool waits = n_reading > 0 && s->schedule->kind != ST_SCHEDULE_HANDOVER;
    if (group->in_flight || n_ready == 0 || waits) return;
    uint32_t draft = draft_length(s, group);
    if (draft > 0 && s->schedule->draft == ST_DRAFT_MODEL) {
        group->in_flight = true;
        start_draft(s, g, draft, cause);
    } else {
        start_decode(s, g, draft, cause);
    }
}

static void slot_ready(sim *s, uint32_t slot, uint32_t cause) {
    s->slots[slot].ready = true;
    s->groups[group_of(s, slot)].ready_cause = cause;
}

/* ---- tokens ---- */

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
}

/* Ends the slot's stream if it has all its tokens, and hands the next one over. */
static bool end_stream(sim *s, uint32_t slot, uint32_t cause) {
    if (wanted(s, slot) > 0) return false;
    count_decoding(s, false);
    s->n_done++;
    admit(s, slot, cause);
    return true;
}

static void first_token(sim *s, uint32_t slot, uint32_t cause) {
    sim_slot *own = &s->slots[slot];
    add_tokens(s, slot, 1);
    make_text(s, own->stream, 1, cause);
    if (end_stream(s, slot, cause)) return;
    if (own->kv_ns > s->now_ns) {
        own->kv_cause = cause;
        sim_arrive(s, own->kv_ns, SIM_NONE, slot);
    } else {
        slot_ready(s, slot, cause);
    }
}

/* Tokens that a verification gives: those of the draft up to the first wrong one, and one more. */
static uint32_t verify(sim *s, sim_group *group) {
    double acceptance = s->costs->acceptance[s->schedule->draft];
    uint32_t right = 0;
    while (right < group->draft && st_rng_unit(&s->rng) < acceptance) right++;
    s->n_verified++;
    s->n_accepted += right + 1;
    return right + 1;
}

static uint32_t members(const sim *s, const sim_group *group) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < group->n; i++) n += s->slots[slot_of(group, i)].in_call;
    return n;
}

static void step_chosen(sim *s, uint32_t g, uint32_t tokens, uint32_t cause) {
    sim_group *group = &s->groups[g];
    uint32_t each = group->draft ? tokens : 1;
    group->in_flight = false;
    for (uint32_t i = 0; i < group->n && !s->code; i++) {
        uint32_t slot = slot_of(group, i);
        sim_slot *own = &s->slots[slot];
        if (!own->in_call) continue;
        own->in_call = false;
        add_tokens(s, slot, each);
        make_text(s, own->stream, each, cause);
        if (!end_stream(s, slot, cause)) slot_ready(s, slot, cause);
    }
}

/* The draft made meanwhile counts when all of the one before was right, and so was what it took for the token after. */
static void use_draft_ahead(sim *s, uint32_t g, bool all_right, uint32_t cause) {
    sim_group *group = &s->groups[g];
    uint32_t ahead = group->ahead;
    group->ahead = SIM_NONE;
    bool good =
        all_right && s->slots[group->first].ready && st_rng_unit(&s->rng) < s->costs->acceptance[ST_DRAFT_MODEL];
    if (good && group->ahead_done) {
        sim_call_free(s, ahead);
        start_decode(s, g, draft_length(s, group), cause);
    } else if (good) {
        group->in_flight = true; /* its end starts the verification */
    } else if (group->ahead_done) {
        sim_call_free(s, ahead);
    } else {
        sim_cancel(s, s->schedule->draft_unit, ahead);
    }
}

/* ---- what the units tell ---- */

static void prefill_done(sim *s, uint32_t unit, uint32_t index) {
    sim_call call = s->calls[index];
    sim_slot *slot = &s->slots[call.slot];
    sim_call_free(s, index);
    if (!call.last) {
        if (!s->schedule->pipelined) start_prefill(s, call.slot, call.cause);
        return;
    }
    if (s->schedule->kind == ST_SCHEDULE_HANDOVER) {
        uint32_t to = decode_unit(s, 0);
        const st_cost_transfer *t =
            &s->costs->transfers[(size_t)s->units[unit].table * s->costs->n_units + s->units[to].table];
        slot->kv_ns = s->now_ns + t->kv_token_ns * s->workload->prompt * s->schedule->n_chunks;
    }
    double lookup = s->schedule->draft == ST_DRAFT_LOOKUP ? s->costs->host.lookup_ns : 0;
    start_choice(s, SIM_NONE, call.slot, slot->stream, 1, lookup, call.cause);
}

static void decode_done(sim *s, uint32_t index) {
    sim_call call = s->calls[index];
    sim_group *group = &s->groups[call.group];
    sim_call_free(s, index);
    uint32_t n = group->draft ? verify(s, group) : members(s, group);
    double lookup = s->schedule->draft == ST_DRAFT_LOOKUP ? s->costs->host.lookup_ns : 0;
    start_choice(s, call.group, SIM_NONE, call.stream, n, lookup, call.cause);
}

static void choice_done(sim *s, uint32_t index) {
    sim_call call = s->calls[index];
    sim_call_free(s, index);
    if (call.slot != SIM_NONE) {
        uint32_t g = group_of(s, call.slot);
        first_token(s, call.slot, call.cause);
        start_step(s, g, call.cause);
        return;
    }
    sim_group *group = &s->groups[call.group];
    bool all_right = group->draft > 0 && call.tokens == group->draft + 1;
    step_chosen(s, call.group, call.tokens, call.cause);
    if (group->ahead != SIM_NONE) use_draft_ahead(s, call.group, all_right, call.cause);
    start_step(s, call.group, group->ready_cause);
}

static void draft_done(sim *s, uint32_t index) {
    sim_call call = s->calls[index];
    sim_group *group = &s->groups[call.group];
    if (group->ahead == index) {
        group->ahead_done = true; /* kept until the verification says whether it counts */
        return;
    }
    sim_call_free(s, index);
    start_decode(s, call.group, draft_length(s, group), call.cause);
}

void sim_flow_chunk_done(sim *s, uint32_t unit, uint32_t index) {
    sim_call *call = &s->calls[index];
    switch (call->what) {
    case ST_SIM_PREFILL:
    case ST_SIM_DECODE:
    case ST_SIM_VERIFY:
        if (call->chunk + 1 < s->schedule->n_chunks) {
            call->chunk++;
            pass(s, unit, index);
        } else if (call->what == ST_SIM_PREFILL) {
            prefill_done(s, unit, index);
        } else {
            decode_done(s, index);
        }
        break;
    case ST_SIM_DRAFT:
        draft_done(s, index);
        break;
    case ST_SIM_CHOOSE:
        choice_done(s, index);
        break;
    case ST_SIM_TEXT:
    case ST_SIM_WHATS:
        sim_call_free(s, index);
        break;
    }
}

void sim_flow_arrived(sim *s, const sim_arrival *arrival) {
    if (arrival->call != SIM_NONE) {
        const sim_call *call = &s->calls[arrival->call];
        sim_enqueue(s, st_schedule_unit(s->schedule, call->chunk, call->what == ST_SIM_PREFILL, call->replica),
                    arrival->call);
        return;
    }
    uint32_t cause = s->slots[arrival->slot].kv_cause;
    slot_ready(s, arrival->slot, cause);
    start_step(s, group_of(s, arrival->slot), cause);
}

/* ---- the beginning ---- */

static uint32_t count_groups(const sim *s) {
    uint32_t n = 0;
    for (uint32_t slot = 0; slot < s->n_slots; slot++) {
        if (group_of(s, slot) >= n) n = group_of(s, slot) + 1;
    }
    return n;
}

void sim_flow_begin(sim *s) {
    s->n_slots = min_u32(s->schedule->streams, s->workload->streams);
    s->slots = calloc(s->n_slots, sizeof *s->slots);
    s->n_groups = count_groups(s);
    s->groups = calloc(s->n_groups, sizeof *s->groups);
    if (!s->slots || !s->groups) {
        s->code = st_fail_memory(s->err, "a simulation's streams", s->n_slots * sizeof *s->slots);
        return;
    }
    uint32_t stride = s->schedule->kind == ST_SCHEDULE_REPLICAS ? s->n_units : 1;
    for (uint32_t slot = 0; slot < s->n_slots; slot++) {
        sim_group *group = &s->groups[group_of(s, slot)];
        if (group->n++ == 0)
            *group =
                (sim_group){.first = slot, .stride = stride, .n = 1, .replica = replica_of(s, slot), .ahead = SIM_NONE};
        s->slots[slot].stream = SIM_NONE;
    }
    for (uint32_t slot = 0; slot < s->n_slots && !s->code; slot++) admit(s, slot, SIM_NONE);
}
