/* SPDX-License-Identifier: MIT
 * What is timed: from right before a submission, in the submitting thread, to the unit's own stamp of the completion.
 * Not timed: streaming the rest of the model, letting pools go to sleep, waking the thread that waited. */
#include "probe/pair.h"

#include "base/error.h"

static uint64_t since(uint64_t begin, uint64_t at) {
    return at > begin ? at - begin : 0;
}

int st_pair_open(st_pair *pair, const st_probe_setup *setup, const st_probe_job *job, stretto_error *err) {
    *pair = (st_pair){.setup = setup, .job = job};
    int code = STRETTO_OK;
    unsigned n_queues = job->arrangement->k ? 1 : 2;
    for (unsigned i = 0; i < 2; i++) {
        pair->step[i] = setup->sides[job->side[i]].steps[job->unit[i]];
        st_event_init(&pair->done[i]);
    }
    for (unsigned i = 0; i < n_queues && code == STRETTO_OK; i++)
        code = st_queue_open(setup->units[job->unit[i]], &pair->queue[i], err);
    if (code == STRETTO_OK && job->arrangement->submit == ST_SUBMIT_TWO_THREADS && !setup->virtual_time)
        code = st_starter_create(&pair->starter, (st_unit *[]){setup->units[job->unit[0]], setup->units[job->unit[1]]},
                                 err);
    if (code != STRETTO_OK) st_pair_close(pair);
    return code;
}

void st_pair_close(st_pair *pair) {
    st_starter_destroy(pair->starter);
    for (unsigned i = 0; i < 2; i++) st_queue_close(pair->queue[i]);
    *pair = (st_pair){0};
}

/* Puts what the event of one side says into the sample. */
static void sample_side(st_sample *sample, unsigned side, const st_event *done, uint64_t begin) {
    sample->begin_ns = begin;
    sample->start_ns[side] = since(begin, done->start_ns);
    sample->end_ns[side] = since(begin, done->end_ns);
    if (sample->end_ns[side] > sample->wall_ns) sample->wall_ns = sample->end_ns[side];
}

static int time_solo(st_pair *pair, const st_step *step, unsigned side, uint64_t begin, st_sample *sample,
                     stretto_error *err) {
    int code = st_run_step(pair->queue[side], step, &pair->done[side], err);
    if (code == STRETTO_OK) sample_side(sample, side, &pair->done[side], begin);
    return code;
}

/* Side b from the thread that submits it when both are started together. */
static int time_second(st_pair *pair, const st_step *step, st_sample *sample, stretto_error *err) {
    st_start_side side = {.queue = pair->queue[1], .step = step, .done = &pair->done[1]};
    st_start_second(pair->starter, &pair->setup->clock, &side);
    if (side.code != STRETTO_OK) return st_fail(err, side.code, "%s", side.error.text);
    sample_side(sample, 1, &pair->done[1], side.begin_ns);
    return STRETTO_OK;
}

/* One side alone, submitted as beside the other. */
static int time_alone(st_pair *pair, const st_step *step, unsigned side, st_sample *sample, stretto_error *err) {
    bool own_thread = side == 1 && pair->starter && pair->job->unit[0] != pair->job->unit[1];
    return own_thread ? time_second(pair, step, sample, err)
                      : time_solo(pair, step, side, st_clock_now(&pair->setup->clock), sample, err);
}

static int time_serial(st_pair *pair, st_sample *sample, stretto_error *err) {
    uint64_t begin = st_clock_now(&pair->setup->clock);
    int code = time_solo(pair, pair->step[0], 0, begin, sample, err);
    return code != STRETTO_OK ? code : time_solo(pair, pair->step[1], 1, begin, sample, err);
}

/* k single calls, as a decoder makes them: each when the one before is done. */
static int time_singles(st_pair *pair, st_sample *sample, stretto_error *err) {
    uint64_t begin = st_clock_now(&pair->setup->clock);
    int code = STRETTO_OK;
    for (unsigned i = 0; i < pair->job->arrangement->k && code == STRETTO_OK; i++)
        code = time_solo(pair, pair->step[0], 0, begin, sample, err);
    return code;
}

static int time_batched(st_pair *pair, st_sample *sample, stretto_error *err) {
    uint64_t begin = st_clock_now(&pair->setup->clock);
    int code = st_run_step(pair->queue[0], pair->step[1], &pair->done[0], err);
    if (code == STRETTO_OK) sample_side(sample, 0, &pair->done[0], begin);
    return code;
}

/* The second is submitted when the first has ended where the queue holds one only. */
static bool queue_holds_two(const st_pair *pair) {
    st_unit_info info;
    st_unit_info_get(pair->setup->units[pair->job->unit[0]], &info);
    return info.max_pending > 1;
}

static int time_queued(st_pair *pair, st_sample *sample, stretto_error *err) {
    uint64_t begin = st_clock_now(&pair->setup->clock);
    int first = st_submit(pair->queue[0], pair->step[0], NULL, 0, &pair->done[0], err);
    if (first == STRETTO_OK && !queue_holds_two(pair)) first = st_event_wait(&pair->done[0], err);
    if (first != STRETTO_OK) return first;
    stretto_error second_error;
    int second = st_submit(pair->queue[0], pair->step[1], NULL, 0, &pair->done[1], &second_error);
    if (second == STRETTO_OK) second = st_event_wait(&pair->done[1], &second_error);
    first = st_event_wait(&pair->done[0], err); /* done already: its queue runs in order */
    if (first != STRETTO_OK) return first;
    if (second != STRETTO_OK) return st_fail(err, second, "%s", second_error.text);
    for (unsigned i = 0; i < 2; i++) sample_side(sample, i, &pair->done[i], begin);
    return STRETTO_OK;
}

static int time_parallel(st_pair *pair, const st_step *const step[2], st_sample *sample, stretto_error *err) {
    st_start_side sides[2] = {{.queue = pair->queue[0], .step = step[0], .done = &pair->done[0]},
                              {.queue = pair->queue[1], .step = step[1], .done = &pair->done[1]}};
    st_start_both(pair->starter, &pair->setup->clock, sides);
    for (unsigned i = 0; i < 2; i++)
        if (sides[i].code != STRETTO_OK) return st_fail(err, sides[i].code, "%s", sides[i].error.text);
    bool a_first = sides[0].begin_ns <= sides[1].begin_ns;
    uint64_t begin = sides[a_first ? 0 : 1].begin_ns;
    sample->second = a_first;
    sample->skew_ns = sides[sample->second].begin_ns - begin;
    for (unsigned i = 0; i < 2; i++) sample_side(sample, i, &pair->done[i], begin);
    return STRETTO_OK;
}

static int time_arm(st_pair *pair, enum st_arm arm, st_sample *sample, stretto_error *err) {
    switch (arm) {
    case ST_ARM_SOLO_A:
        return time_alone(pair, pair->step[0], 0, sample, err);
    case ST_ARM_SOLO_B:
        return time_alone(pair, pair->step[1], 1, sample, err);
    case ST_ARM_SERIAL:
        return pair->job->arrangement->k ? time_singles(pair, sample, err) : time_serial(pair, sample, err);
    case ST_ARM_QUEUED:
        return time_queued(pair, sample, err);
    case ST_ARM_BATCHED:
        return time_batched(pair, sample, err);
    default:
        return time_parallel(pair, pair->step, sample, err);
    }
}

/* CPU time that the pair's units have used so far. */
static uint64_t cpu_now(const st_pair *pair) {
    const unsigned *unit = pair->job->unit;
    uint64_t first = st_unit_cpu_ns(pair->setup->units[unit[0]]);
    return unit[0] == unit[1] ? first : first + st_unit_cpu_ns(pair->setup->units[unit[1]]);
}

/* Idle pools spin for a while, which would be measured as the slowness of others. */
static void quiet_all(const st_probe_setup *setup) {
    for (unsigned i = 0; i < setup->n_units; i++) st_unit_quiet(setup->units[i]);
}

int st_pair_time(st_pair *pair, enum st_arm arm, st_sample *sample, stretto_error *err) {
    const st_probe_setup *setup = pair->setup;
    *sample = (st_sample){0};
    if (setup->evict) setup->evict(setup->evict_arg, pair->job);
    quiet_all(setup);
    uint64_t cpu = cpu_now(pair);
    int code = time_arm(pair, arm, sample, err);
    if (code == STRETTO_OK) sample->cpu_ns = cpu_now(pair) - cpu;
    return code;
}

static int time_part(st_pair *pair, const st_step *const step[2], enum st_part part, st_sample *sample,
                     stretto_error *err) {
    *sample = (st_sample){0};
    quiet_all(pair->setup);
    return part == ST_PART_BOTH ? time_parallel(pair, step, sample, err)
                                : time_alone(pair, step[part], part, sample, err);
}

int st_pair_time_beside(st_pair *pair, unsigned kind, enum st_part part, st_beside_sample *out, stretto_error *err) {
    const st_step *step[2] = {pair->step[0], pair->step[1]};
    for (unsigned i = 0; i < 2 && kind < ST_CONTROL_COUNT; i++)
        step[i] = pair->setup->controls[kind].steps[pair->job->unit[i]];
    st_sample sample;
    int code = STRETTO_OK;
    if (kind == ST_BESIDE_WARM) code = time_part(pair, step, part, &sample, err); /* warms them */
    if (code == STRETTO_OK) code = time_part(pair, step, part, &sample, err);
    if (code != STRETTO_OK) return code;
    if (sample.wall_ns == 0)
        return st_fail(err, STRETTO_E_UNIT, "%s took no time at all: the unit's clock is not the probe's",
                       step[part == ST_PART_B]->name);
    for (unsigned i = 0; i < 2 && part == ST_PART_BOTH; i++) out->end_ns[i] = sample.end_ns[i];
    if (part != ST_PART_BOTH) out->solo_ns[part] = sample.wall_ns;
    return code;
}
