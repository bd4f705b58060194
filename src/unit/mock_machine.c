/* SPDX-License-Identifier: MIT
 * Discrete-event simulation with shared speeds: between two events every running step progresses at a constant share of
 * its full speed, so the next completion is known exactly. */
#include "unit/mock_machine.h"

#include "base/error.h"

#include <math.h>

/* What rounding may leave of a step that has ended: hours of virtual time have a resolution of a hundredth. */
#define DONE_NS 0.05

uint64_t mock_now(const st_mock_machine *machine) {
    return (uint64_t)llround(machine->now);
}

static mock_job *queue_head(mock_queue *queue) {
    return queue->count ? &queue->jobs[queue->first] : NULL;
}

static void job_finish(st_mock_machine *machine, mock_queue *queue, int code, const stretto_error *error) {
    mock_job *job = queue_head(queue);
    st_event *done = job->done;
    const char *name = job->step.name;
    done->start_ns = (uint64_t)llround(job->start);
    done->end_ns = mock_now(machine);
    stretto_error copy;
    if (error) copy = *error;
    queue->first = (queue->first + 1) % MOCK_PENDING;
    queue->count--;
    st_event_complete(done, code, error ? &copy : NULL, name);
}

static void job_end(st_mock_machine *machine, mock_unit *unit, mock_queue *queue) {
    mock_job *job = queue_head(queue);
    job->running = false;
    unit->running--;
    if (!job->dies) {
        job_finish(machine, queue, STRETTO_OK, NULL);
        return;
    }
    stretto_error err;
    st_fail(&err, STRETTO_E_UNIT, "unit %s died while it ran step %s", unit->name, job->step.name);
    job_finish(machine, queue, err.code, &err);
}

/* Duration at full speed of a step that starts now. */
static double job_duration(const st_mock_machine *machine, mock_queue *queue, const mock_job *job) {
    const st_mock_options *o = &machine->options;
    st_mock_work *work = job->step.arg;
    double ns = (double)work->ns;
    if (o->sigma > 0) ns *= exp(o->sigma * st_rng_normal(&queue->rng));
    if (o->outlier_share > 0 && st_rng_unit(&queue->rng) < o->outlier_share) ns *= o->outlier_factor;
    ns *= 1 + o->drift_per_s * machine->now * 1e-9;
    if (o->wave_ns && fmod(machine->now, (double)o->wave_ns) >= (double)o->wave_ns / 2) ns *= 1 + o->wave;
    if (work->runs++ == 0) ns += (double)work->cold_ns;
    return ns;
}

static void job_start(st_mock_machine *machine, mock_unit *unit, mock_queue *queue) {
    mock_job *job = queue_head(queue);
    job->running = true;
    job->start = machine->now;
    job->cold = unit->chilled;
    unit->chilled = false;
    job->total = job->left = job_duration(machine, queue, job);
    unit->running++;
    const st_mock_options *o = &machine->options;
    if (o->trace) o->trace(o->trace_arg, unit->name, &job->step, mock_now(machine));
}

/* The step of this unit that has been ready for longest, so submissions are served in order of arrival. */
static mock_queue *unit_next(const st_mock_machine *machine, const mock_unit *unit) {
    mock_queue *best = NULL;
    for (mock_queue *queue = unit->queues; queue; queue = queue->next) {
        mock_job *job = queue_head(queue);
        if (!job || job->running || job->ready > machine->now) continue;
        if (atomic_load_explicit(&job->waiting, memory_order_acquire) > 0) continue;
        mock_job *other = best ? queue_head(best) : NULL;
        if (!other || job->ready < other->ready || (job->ready == other->ready && job->seq < other->seq)) best = queue;
    }
    return best;
}

/* Starts all that can start now. A step whose dependency failed ends here, which may make others ready: true then. */
static bool machine_start(st_mock_machine *machine) {
    bool ended = false;
    for (mock_unit *unit = machine->units; unit; unit = unit->next) {
        unsigned most = unit->options.kind == ST_MOCK_TIME_SLICED ? UINT32_MAX : unit->options.engines;
        mock_queue *queue;
        while (unit->running < most && (queue = unit_next(machine, unit))) {
            mock_job *job = queue_head(queue);
            if (job->code != STRETTO_OK) {
                job->start = machine->now;
                job_finish(machine, queue, job->code, &job->error);
                ended = true;
            } else {
                job_start(machine, unit, queue);
            }
        }
    }
    return ended;
}

/* Threads of busy units on one core; a unit's threads are spread evenly over its cores, and count once however many of
 * its queues are busy. */
static double core_load(const st_mock_machine *machine, unsigned core) {
    double load = 0;
    for (const mock_unit *unit = machine->units; unit; unit = unit->next) {
        if (!unit->running) continue;
        for (unsigned i = 0; i < unit->options.n_cores; i++)
            if (unit->cores[i] == core) load += (double)unit->options.n_threads / unit->options.n_cores;
    }
    return load;
}

/* A step is as fast as its slowest thread. */
static double unit_speed(const st_mock_machine *machine, const mock_unit *unit) {
    double most = 1;
    for (unsigned i = 0; i < unit->options.n_cores; i++) most = fmax(most, core_load(machine, unit->cores[i]));
    double speed = most > 1 ? 1 / (most * (1 + machine->options.oversubscribed)) : 1;
    return unit->options.kind == ST_MOCK_TIME_SLICED ? speed / unit->running : speed;
}

/* What steps on several units at once do to each other, whatever they do. */
static double crowd_slowdown(const st_mock_machine *machine, const mock_job *job, unsigned busy, unsigned cold) {
    double slowdown = busy > 1 ? 1 + machine->options.together : 1;
    return job->cold && cold > 1 ? slowdown * (1 + machine->options.cold) : slowdown;
}

/* Where a step stands that reads in phases: whether it reads now, and how much of it is left until that changes. */
static bool job_phase(const mock_job *job, double *left) {
    const st_mock_work *work = job->step.arg;
    *left = HUGE_VAL;
    if (work->phases == 0) return job->step.bytes > 0;
    double length = job->total / work->phases, done = job->total - job->left + DONE_NS;
    double begin = floor(done / length) * length, turn = begin + work->reading * length;
    bool reads = done < turn;
    *left = (reads ? turn : begin + length) - (done - DONE_NS);
    return reads;
}

static double job_demand(const mock_job *job) {
    const st_mock_work *work = job->step.arg;
    double left;
    if (!(job->total > 0) || !job_phase(job, &left)) return 0;
    return job->speed * (double)job->step.bytes / (work->phases ? work->reading * job->total : job->total);
}

static double bandwidth_now(const st_mock_machine *machine) {
    const st_mock_options *o = &machine->options;
    return o->bytes_per_ns_later > 0 && machine->now >= (double)o->later_ns ? o->bytes_per_ns_later : o->bytes_per_ns;
}

#define FOR_RUNNING(machine, unit, queue, job)                                                                         \
    for (mock_unit *unit = (machine)->units; unit; unit = unit->next)                                                  \
        for (mock_queue *queue = unit->running ? unit->queues : NULL; queue; queue = queue->next)                      \
            for (mock_job *job = queue_head(queue); job && job->running; job = NULL)

static void machine_speeds(st_mock_machine *machine) {
    double demand = 0;
    unsigned busy = 0, cold = 0;
    for (const mock_unit *unit = machine->units; unit; unit = unit->next) busy += unit->running > 0;
    FOR_RUNNING(machine, unit, queue, job) cold += job->cold;
    FOR_RUNNING(machine, unit, queue, job) {
        job->speed = unit_speed(machine, unit) / crowd_slowdown(machine, job, busy, cold);
        demand += job_demand(job);
    }
    double limit = bandwidth_now(machine), left;
    if (limit <= 0 || demand <= limit) return;
    FOR_RUNNING(machine, unit, queue, job) if (job_phase(job, &left)) job->speed *= limit / demand;
}

/* When the next completion or arrival is, HUGE_VAL for never. */
static double machine_next(st_mock_machine *machine) {
    double next = HUGE_VAL, later = (double)machine->options.later_ns;
    FOR_RUNNING(machine, unit, queue, job) {
        double left;
        job_phase(job, &left);
        next = fmin(next, machine->now + fmin(job->left, left) / job->speed);
        if (later > machine->now) next = fmin(next, later);
    }
    for (mock_unit *unit = machine->units; unit; unit = unit->next)
        for (mock_queue *queue = unit->queues; queue; queue = queue->next) {
            const mock_job *job = queue_head(queue);
            if (job && !job->running && job->ready > machine->now) next = fmin(next, job->ready);
        }
    return next;
}

/* Lets all that runs go on for ns. Threads of a unit with a core of its own run all the time, others for their share.
 */
static void machine_progress(st_mock_machine *machine, double ns) {
    FOR_RUNNING(machine, unit, queue, job) job->left -= job->speed * ns;
    for (mock_unit *unit = machine->units; unit; unit = unit->next) {
        if (!unit->running) continue;
        double most = 1;
        for (unsigned i = 0; i < unit->options.n_cores; i++) most = fmax(most, core_load(machine, unit->cores[i]));
        unit->cpu_ns += ns * unit->options.n_threads / most;
    }
}

bool mock_advance(st_mock_machine *machine, double until) {
    if (machine_start(machine)) return true;
    machine_speeds(machine);
    double next = machine_next(machine);
    if (next > until) {
        if (until < HUGE_VAL) {
            machine_progress(machine, until - machine->now);
            machine->now = until;
        }
        return false;
    }
    machine_progress(machine, next - machine->now);
    machine->now = next;
    for (mock_unit *unit = machine->units; unit; unit = unit->next)
        for (mock_queue *queue = unit->queues; queue; queue = queue->next) {
            mock_job *job = queue_head(queue);
            if (job && job->running && job->left <= DONE_NS) job_end(machine, unit, queue);
        }
    return true;
}
