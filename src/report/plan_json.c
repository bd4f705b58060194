/* SPDX-License-Identifier: MIT */
#include "report/plan_report.h"

json_t *st_predicted_json(const st_sim_result *r, const st_schedule *schedule) {
    json_t *object = json_object(), *units = json_array();
    st_json_set(&object, "tokens_per_s", st_json_real(r->tokens_per_s));
    st_json_set(&object, "stream_tokens_per_s", st_json_real(r->stream_tokens_per_s));
    st_json_set(&object, "prefill_tokens_per_s", st_json_real(r->prefill_tokens_per_s));
    st_json_set(&object, "ttft_ns", st_json_real(r->ttft_ns));
    st_json_set(&object, "worst_ttft_ns", st_json_real(r->worst_ttft_ns));
    st_json_set(&object, "gap_ns", st_json_real(r->gap_ns));
    st_json_set(&object, "worst_gap_ns", st_json_real(r->worst_gap_ns));
    st_json_set(&object, "latency_ns", st_json_real(r->latency_ns));
    st_json_set(&object, "end_ns", st_json_real(r->end_ns));
    st_json_set(&object, "accepted", st_json_real(r->accepted));
    st_json_set(&object, "memory_bytes", st_json_count(r->memory_bytes));
    for (uint32_t u = 0; u <= schedule->n_units; u++) {
        json_t *unit = json_object();
        st_json_set(&unit, "unit", st_json_text(u < schedule->n_units ? schedule->units[u] : "host"));
        st_json_set(&unit, "busy_ns", st_json_real(r->busy_ns[u]));
        st_json_set(&unit, "utilisation", st_json_real(r->utilisation[u]));
        st_json_set(&unit, "critical_ns", st_json_real(r->path.unit_ns[u]));
        st_json_append(&units, unit);
    }
    st_json_set(&object, "units", units);
    st_json_set(&object, "critical_latency_ns", st_json_real(r->path.latency_ns));
    return object;
}

static json_t *measured_json(const st_measured *m) {
    json_t *object = json_object();
    st_json_set(&object, "tokens_per_s", st_json_real(m->tokens_per_s));
    st_json_set(&object, "stream_tokens_per_s", st_json_real(m->stream_tokens_per_s));
    st_json_set(&object, "prefill_tokens_per_s", st_json_real(m->prefill_tokens_per_s));
    st_json_set(&object, "ttft_ns", st_json_real(m->ttft_ns));
    st_json_set(&object, "rounds", st_json_count(m->rounds));
    st_json_set(&object, "tokens_per_s_margin", m->rounds > 1 ? st_json_real(m->rate_margin) : json_null());
    st_json_set(&object, "ttft_margin", m->rounds > 1 ? st_json_real(m->ttft_margin) : json_null());
    return object;
}

/* null: there were no such steps. */
static json_t *pace_json(const st_measured *m) {
    json_t *object = json_object();
    st_json_set(&object, "decode", m->decode_pace > 0 ? st_json_real(m->decode_pace) : json_null());
    st_json_set(&object, "prefill", m->prefill_pace > 0 ? st_json_real(m->prefill_pace) : json_null());
    return object;
}

static json_t *with_steps_json(const st_measured *m) {
    json_t *object = json_object();
    st_json_set(&object, "tokens_per_s", st_json_real(m->with_steps.tokens_per_s));
    st_json_set(&object, "stream_tokens_per_s", st_json_real(m->with_steps.stream_tokens_per_s));
    st_json_set(&object, "prefill_tokens_per_s", st_json_real(m->with_steps.prefill_tokens_per_s));
    st_json_set(&object, "ttft_ns", st_json_real(m->with_steps.ttft_ns));
    return object;
}

static json_t *row_json(const st_choice_row *row) {
    json_t *object = json_object();
    st_json_set(&object, "title", st_json_text(row->title));
    st_json_set(&object, "possible", json_boolean(row->possible));
    if (!row->possible) {
        st_json_set(&object, "why", st_json_text(row->why));
        return object;
    }
    st_json_set(&object, "score_ns", st_json_real(row->score));
    st_json_set(&object, "predicted", st_predicted_json(&row->result, &row->schedule));
    st_json_set(&object, "schedule", st_schedule_json(&row->schedule));
    if (row->measured.done) st_json_set(&object, "measured", measured_json(&row->measured));
    if (row->measured.with_steps.ttft_ns > 0) {
        st_json_set(&object, "steps_over_planned", pace_json(&row->measured));
        st_json_set(&object, "predicted_with_steps", with_steps_json(&row->measured));
    }
    if (row->measured.why[0]) st_json_set(&object, "not_measured", st_json_text(row->measured.why));
    return object;
}

static json_t *turn_json(const st_choice *choice) {
    json_t *object = json_object();
    st_json_set(&object, "overlap_factor", choice->turns ? st_json_real(choice->overlap) : json_null());
    st_json_set(&object, "measured", st_json_real(choice->measured));
    st_json_set(&object, "text", st_json_text(choice->turn));
    return object;
}

json_t *st_workload_json(const st_workload *workload) {
    json_t *object = json_object();
    st_json_set(&object, "streams", st_json_count(workload->streams));
    st_json_set(&object, "prompt_tokens", st_json_count(workload->prompt));
    st_json_set(&object, "generated_tokens", st_json_count(workload->generate));
    return object;
}

json_t *st_plan_json(const st_choice *choice, const st_costs *costs, const st_origin *origin) {
    json_t *object = json_object(), *rows = json_array();
    for (size_t i = 0; i < choice->n_rows; i++) st_json_append(&rows, row_json(&choice->rows[i]));
    st_json_set(&object, "schema", st_json_text("stretto-plan/1"));
    st_json_set(&object, "goal", st_json_text(st_goal_names[choice->goal]));
    st_json_set(&object, "workload", st_workload_json(&choice->workload));
    st_json_set(&object, "best", choice->n_possible ? st_json_count(0) : json_null());
    st_json_set(&object, "runner_up",
                choice->runner_up < choice->n_possible ? st_json_count(choice->runner_up) : json_null());
    st_json_set(&object, "reason", st_json_text(choice->reason));
    st_json_set(&object, "turn", turn_json(choice));
    st_json_set(&object, "schedules", rows);
    st_json_set(&object, "costs", st_costs_json(costs));
    if (origin) st_json_origin(&object, origin);
    return object;
}
