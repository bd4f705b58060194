/* SPDX-License-Identifier: MIT */
#include "run/streams.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/mem.h"
#include "run/streams_impl.h"

#define PROMPT_ROWS 128

/* ---- opening ---- */

static int check_stations(const st_streams_options *o, stretto_error *err) {
    bool reads = false, decodes = false;
    if (o->n_stations == 0 || o->n_stations > ST_STATIONS_MAX)
        return st_fail(err, STRETTO_E_USAGE, "%u stations: expected 1 to %d", o->n_stations, ST_STATIONS_MAX);
    for (uint32_t i = 0; i < o->n_stations; i++) {
        reads = reads || o->stations[i].reads;
        decodes = decodes || o->stations[i].decodes;
    }
    if (!reads || !decodes) return st_fail(err, STRETTO_E_USAGE, "no station %s", reads ? "decodes" : "reads prompts");
    return STRETTO_OK;
}

/* Fills in what was left open. */
static int set_options(st_streams *e, const st_streams_options *options, stretto_error *err) {
    st_streams_options *o = &e->o;
    *o = *options;
    if (o->n_streams == 0 || o->n_streams > ST_STREAMS_MAX)
        return st_fail(err, STRETTO_E_USAGE, "%u streams: expected 1 to %d", o->n_streams, ST_STREAMS_MAX);
    if (o->depth > ST_PASS_MAX_AFTER)
        return st_fail(err, STRETTO_E_USAGE, "%u passes in flight: at most %d", o->depth, ST_PASS_MAX_AFTER);
    if (o->n_ctx == 0 || o->n_ctx > INT32_MAX - 1)
        return st_fail(err, STRETTO_E_USAGE, "a context of %u positions: expected 1 to %d", o->n_ctx, INT32_MAX - 1);
    if (o->rows == 0 || o->rows > o->n_streams) o->rows = o->n_streams;
    if (o->guesses > ST_LOOKUP_MAX) o->guesses = ST_LOOKUP_MAX;
    if (o->guesses && (o->rows > 1 || o->mix || o->ahead))
        return st_fail(err, STRETTO_E_USAGE, "what is guessed needs a pass of its own, after the pass before");
    if (o->depth == 0) o->depth = 1;
    if (o->guesses && o->depth < 2) o->depth = 2; /* a step ahead, while nothing is guessed */
    if (o->prompt_rows == 0) o->prompt_rows = PROMPT_ROWS;
    if (o->prompt_rows > o->n_ctx) o->prompt_rows = o->n_ctx;
    if (o->prompt_depth == 0) o->prompt_depth = 1;
    uint32_t tokens = 1 + o->guesses;
    e->max_wanted = (o->mix ? o->n_streams : o->rows) * tokens;
    e->max_rows = o->rows * tokens + o->prompt_rows;
    return check_stations(o, err);
}

static int open_station(st_streams *e, uint32_t i, stretto_error *err) {
    const st_station_options *o = &e->o.stations[i];
    st_station *s = &e->stations[i];
    s->reads = o->reads;
    s->decodes = o->decodes;
    s->flights = st_alloc(e->o.depth, sizeof *s->flights);
    if (!s->flights) return st_fail_memory(err, "passes", e->o.depth * sizeof *s->flights);
    st_flights_prepare(e, s);
    int code = st_placement_open(&s->placement, e->o.model, e->o.spans, e->o.n_chunks, o->units, e->max_rows, err);
    for (uint32_t f = 0; f < e->o.depth && !code; f++) {
        st_flight *flight = &s->flights[f];
        flight->shares = st_alloc(e->o.n_streams, sizeof *flight->shares);
        if (!flight->shares) return st_fail_memory(err, "passes", e->o.n_streams * sizeof *flight->shares);
        code = st_pass_open(&flight->pass, s->placement, e->max_rows, e->max_wanted, NULL, err);
    }
    return code;
}

/* Rows that a pass has of one stream at most. */
static uint32_t rows_of_stream(const st_streams_options *o) {
    return o->prompt_rows > ST_LOOKUP_MAX ? o->prompt_rows : ST_LOOKUP_MAX + 1;
}

/* The stations' working memory, and the logits of their passes, count with the KV. */
static int check_room(const st_streams *e, stretto_error *err) {
    const st_streams_options *o = &e->o;
    const uint64_t logits = (uint64_t)e->max_wanted * st_logits_stride(o->model) * sizeof(float);
    uint64_t beside = 0;
    for (uint32_t i = 0; i < o->n_stations; i++)
        beside += st_placement_bytes(e->stations[i].placement) + o->depth * logits;
    return st_stream_check_room(e->stations[0].placement->chunks, o->n_chunks, o->kv_type, o->n_ctx, rows_of_stream(o),
                                o->n_streams, beside, err);
}

static int open_slot(st_streams *e, st_slot *slot, stretto_error *err) {
    const st_streams_options *o = &e->o;
    slot->ids = st_alloc((size_t)o->n_ctx + 1, sizeof *slot->ids);
    if (!slot->ids) return st_fail_memory(err, "a stream's ids", (o->n_ctx + 1ull) * sizeof *slot->ids);
    int code = st_stream_open(&slot->stream, e->stations[0].placement->chunks, o->n_chunks, o->kv_type, o->n_ctx,
                              rows_of_stream(o), err);
    if (code || !o->guesses) return code;
    if (o->drafts) return st_slot_draft_open(e, slot, o->drafts[slot - e->slots], err);
    return st_lookup_create(&slot->lookup, o->n_ctx, err);
}

int st_streams_open(st_streams **out, const st_streams_options *options, stretto_error *err) {
    *out = NULL;
    st_streams *e = st_alloc(1, sizeof *e);
    if (!e) return st_fail_memory(err, "streams", sizeof *e);
    pthread_mutex_init(&e->lock, NULL);
    int code = set_options(e, options, err);
    if (!code) {
        e->stations = st_alloc(e->o.n_stations, sizeof *e->stations);
        e->slots = st_alloc(e->o.n_streams, sizeof *e->slots);
        if (!e->stations || !e->slots) code = st_fail_memory(err, "streams", e->o.n_streams * sizeof *e->slots);
    }
    for (uint32_t i = 0; !code && i < e->o.n_stations; i++) code = open_station(e, i, err);
    if (!code) code = check_room(e, err);
    for (uint32_t i = 0; !code && i < e->o.n_streams; i++) code = open_slot(e, &e->slots[i], err);
    if (code)
        st_streams_close(e);
    else
        *out = e;
    return code;
}

static void close_station(const st_streams *e, st_station *s) {
    for (uint32_t f = 0; s->flights && f < e->o.depth; f++) {
        st_pass_close(s->flights[f].pass);
        st_free(s->flights[f].shares);
    }
    st_free(s->flights);
    st_placement_close(s->placement);
}

void st_streams_close(st_streams *e) {
    if (!e) return;
    for (uint32_t i = 0; e->slots && i < e->o.n_streams; i++) {
        st_stream_close(e->slots[i].stream);
        st_sampler_free(e->slots[i].sampler);
        st_lookup_free(e->slots[i].lookup);
        st_draft_free(e->slots[i].draft);
        st_free(e->slots[i].ids);
    }
    for (uint32_t i = 0; e->stations && i < e->o.n_stations; i++) close_station(e, &e->stations[i]);
    st_free(e->slots);
    st_free(e->stations);
    pthread_mutex_destroy(&e->lock);
    st_free(e);
}

/* ---- a run ---- */

static int check_job(const st_streams *e, const st_job *job, uint32_t index, stretto_error *err) {
    if (job->n_prompt == 0)
        return st_fail(err, STRETTO_E_INPUT, "prompt %u is empty: it has no tokens to go on from", index);
    if (job->n_prompt > e->o.n_ctx)
        return st_fail(err, STRETTO_E_INPUT, "prompt %u has %u tokens, but the context has room for %u: %u too many",
                       index, job->n_prompt, e->o.n_ctx, job->n_prompt - e->o.n_ctx);
    for (uint32_t i = 0; i < job->n_prompt; i++)
        if (job->prompt[i] < 0 || (uint32_t)job->prompt[i] >= e->o.model->n_vocab)
            return st_fail(err, STRETTO_E_INPUT, "prompt %u: token id %d at position %u is not in the vocabulary of %u",
                           index, job->prompt[i], i, e->o.model->n_vocab);
    return STRETTO_OK;
}

static int make_sampler(const st_streams *e, st_slot *slot, stretto_error *err) {
    st_sampler_free(slot->sampler);
    slot->sampler = NULL;
    if (!slot->job->sampler) return STRETTO_OK;
    int code = st_sampler_create(&slot->sampler, slot->job->sampler, e->o.model->n_vocab, err);
    if (code) return code;
    if (st_sampler_is_argmax(slot->sampler)) {
        st_sampler_free(slot->sampler);
        slot->sampler = NULL;
    }
    for (uint32_t i = 0; slot->sampler && i < slot->job->n_prompt; i++)
        st_sampler_accept(slot->sampler, slot->job->prompt[i]);
    return STRETTO_OK;
}

st_station *st_station_for(const st_streams *e, bool reading) {
    st_station *least = NULL;
    for (uint32_t i = 0; i < e->o.n_stations; i++) {
        st_station *s = &e->stations[i];
        bool does = reading ? s->reads : s->decodes;
        if (does && !s->dead && (!least || s->n_slots < least->n_slots)) least = s;
    }
    return least;
}

/* A prompt that could be read, but not decoded, is not begun. */
static bool can_admit(const st_streams *e) {
    return st_station_for(e, true) && st_station_for(e, false);
}

static int take_job(st_streams *e, st_slot *slot, st_station *station, stretto_error *err) {
    slot->index = e->next_job++;
    slot->job = &e->jobs[slot->index];
    slot->result = (st_job_result){0};
    slot->n_ids = slot->n_read = slot->n_plain = 0;
    slot->expects = false;
    slot->latest = NULL;
    slot->taken_ns = st_now_ns();
    st_stream_reset(slot->stream);
    if (slot->lookup) {
        st_lookup_reset(slot->lookup);
        for (uint32_t i = 0; i < slot->job->n_prompt; i++) st_lookup_add(slot->lookup, slot->job->prompt[i]);
    }
    slot->station = station;
    station->n_slots++;
    slot->state = ST_SLOT_READING;
    st_slot_draft_prompt(e, slot);
    return make_sampler(e, slot, err);
}

static void admit(st_streams *e) {
    stretto_error error = {0};
    for (uint32_t i = 0; i < e->o.n_streams && e->next_job < e->n_jobs && can_admit(e); i++) {
        st_slot *slot = &e->slots[i];
        if (slot->state != ST_SLOT_FREE) continue;
        if (take_job(e, slot, st_station_for(e, true), &error)) st_slot_end(e, slot, ST_FINISH_ERROR, &error);
    }
    while (!can_admit(e) && e->next_job < e->n_jobs) st_job_end(e, e->next_job++, ST_FINISH_ERROR, &e->unit_error);
}

static void cancel_all(st_streams *e) {
    e->cancelled = true;
    for (uint32_t i = 0; i < e->o.n_streams; i++) st_slot_end(e, &e->slots[i], ST_FINISH_STOPPED, NULL);
    while (e->next_job < e->n_jobs) st_job_end(e, e->next_job++, ST_FINISH_STOPPED, NULL);
}

/* A unit's thread waits in here before its next step, so it wakes nobody who would then wait for the lock. Once the
 * lock is open the engine may be gone: a wake looks at no memory. */
void st_arrive(st_listener *listener, int code, const stretto_error *error) {
    (void)code;
    (void)error;
    st_arrival *arrival = (st_arrival *)listener;
    st_streams *e = arrival->engine;
    pthread_mutex_lock(&e->lock);
    st_arrival **end = &e->done;
    while (*end) end = &(*end)->next;
    arrival->next = NULL;
    *end = arrival;
    const bool wake = e->asleep;
    e->asleep = false;
    if (wake) atomic_fetch_add(&e->arrived, 1);
    pthread_mutex_unlock(&e->lock);
    if (wake) st_futex_wake(&e->arrived);
}

static st_arrival *wait_for_one(st_streams *e) {
    pthread_mutex_lock(&e->lock);
    while (!e->done) {
        const unsigned before = atomic_load(&e->arrived);
        e->asleep = true;
        pthread_mutex_unlock(&e->lock);
        st_futex_wait(&e->arrived, before);
        pthread_mutex_lock(&e->lock);
    }
    st_arrival *arrival = e->done;
    e->done = arrival->next;
    pthread_mutex_unlock(&e->lock);
    return arrival;
}

static bool stop_asked(const st_streams *e) {
    return e->cancelled || (e->o.cancel && atomic_load_explicit(e->o.cancel, memory_order_relaxed));
}

static bool anything_left(const st_streams *e) {
    if (e->next_job < e->n_jobs || e->in_flight > 0 || e->n_drafting > 0) return true;
    for (uint32_t i = 0; i < e->o.n_streams; i++)
        if (e->slots[i].state != ST_SLOT_FREE) return true;
    return false;
}

/* Whenever nothing is in flight something must have come to an end, for instance with its station. */
static int work(st_streams *e, stretto_error *err) {
    uint32_t idle = 0;
    while (anything_left(e)) {
        if (stop_asked(e)) cancel_all(e);
        admit(e);
        st_streams_submit(e);
        if (e->in_flight + e->n_drafting > 0) {
            st_arrival *arrival = wait_for_one(e);
            arrival->settle(arrival);
            idle = 0;
        } else if (++idle > e->o.n_stations + 1) {
            return st_fail(err, STRETTO_E_INTERNAL, "streams are left, but nothing of them can run");
        }
    }
    return STRETTO_OK;
}

int st_streams_run(st_streams *e, const st_job *jobs, uint32_t n_jobs, const st_streams_events *events,
                   stretto_error *err) {
    for (uint32_t i = 0; i < n_jobs; i++) {
        int code = check_job(e, &jobs[i], i, err);
        if (code) return code;
    }
    e->jobs = jobs;
    e->n_jobs = n_jobs;
    e->next_job = 0;
    e->events = events;
    e->cancelled = e->mute = false;
    e->failed = (stretto_error){0};
    e->stats = (st_streams_stats){0};
    e->handed_ns = st_now_ns();
    int code = work(e, err);
    e->stats.wall_ns = st_now_ns() - e->handed_ns;
    if (code) return code;
    if (e->cancelled) return st_fail(err, STRETTO_E_STOPPED, "stopped");
    if (e->unit_error.code) return st_fail(err, e->unit_error.code, "%s", e->unit_error.text);
    if (e->failed.code) return st_fail(err, e->failed.code, "%s", e->failed.text);
    return STRETTO_OK;
}

uint64_t st_streams_kv_bytes(const st_streams *e) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < e->o.n_streams; i++) bytes += st_stream_kv_bytes(e->slots[i].stream);
    return bytes;
}

st_streams_stats st_streams_stats_get(const st_streams *e) {
    return e->stats;
}
