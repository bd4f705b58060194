/* SPDX-License-Identifier: MIT
 * The spike's numbers over all prompts, its log and its JSON. */
#include "report/spike_report.h"

#include "report/text.h"

#include <math.h>

int st_spike_report_finish(st_spike_report *report, stretto_error *err) {
    double ratios[ST_SPIKE_PROMPTS * ST_SPIKE_MAX_RUNS];
    size_t n = 0;
    for (unsigned i = 0; i < report->n_prompts; i++) {
        const st_spike_prompt *prompt = &report->prompts[i];
        for (unsigned k = 0; k < prompt->n_runs; k++)
            if (prompt->baseline[k] > 0) ratios[n++] = prompt->spiked[k] / prompt->baseline[k];
    }
    report->has_ratio = n > 0;
    if (n == 0) return STRETTO_OK;
    st_rng rng;
    st_rng_seed(&rng, 1);
    return st_bootstrap_median(ratios, n, 0.95, 2000, &rng, &report->ratio, err);
}

unsigned st_spike_report_probed(const st_spike_report *report) {
    unsigned n = 0;
    for (unsigned i = 0; i < report->n_prompts; i++)
        n += report->prompts[i].probed && report->prompts[i].spike.complete;
    return n;
}

bool st_spike_report_verdict(const st_spike_report *report, enum st_overlap *verdict, st_interval *hull) {
    *hull = (st_interval){.lo = HUGE_VAL, .hi = -HUGE_VAL};
    double values[ST_SPIKE_PROMPTS];
    size_t n = 0;
    for (unsigned i = 0; i < report->n_prompts; i++) {
        const st_spike_prompt *prompt = &report->prompts[i];
        if (!prompt->probed || !prompt->spike.complete) continue;
        values[n++] = prompt->spike.factor.value;
        hull->lo = fmin(hull->lo, prompt->spike.factor.lo);
        hull->hi = fmax(hull->hi, prompt->spike.factor.hi);
    }
    *verdict = ST_OVERLAP_UNDECIDED;
    if (n == 0) return false;
    hull->value = st_median(values, n);
    if (!report->complete) return true;
    /* Without the one-queue arm a loss cannot be told from the cost of a dispatch, so "interferes" is never said. */
    if (hull->hi < 0.10) *verdict = ST_OVERLAP_SERIALISES;
    if (hull->lo >= 0.10) *verdict = ST_OVERLAP_OVERLAPS;
    return true;
}

void st_spike_log(st_buf *out, const st_spike_record *record, const char *prefix) {
    st_buf_printf(out, "%schunk %s on %s || chunk %s on %s: %d trials each, caches warm\n", prefix, record->name[0],
                  record->unit[0], record->name[1], record->unit[1], ST_SPIKE_TRIALS);
    for (unsigned arm = 0; arm < ST_SPIKE_ARMS; arm++) {
        if (record->trials[arm] == 0) continue;
        st_buf_printf(out, "%s%s ms:", prefix, st_spike_arm_name(arm));
        for (unsigned i = 0; i < record->trials[arm]; i++)
            st_buf_printf(out, " %.3f", (double)record->ns[arm][i] / 1e6);
        st_buf_text(out, "\n");
    }
    if (!record->complete) return;
    st_buf_printf(out, "%smedians: c%s %.3f ms, c%s %.3f ms, serial both %.3f ms, parallel %.3f ms\n", prefix,
                  record->name[0], record->median_ns[ST_SPIKE_A] / 1e6, record->name[1],
                  record->median_ns[ST_SPIKE_B] / 1e6, record->median_ns[ST_SPIKE_SERIAL] / 1e6,
                  record->median_ns[ST_SPIKE_PARALLEL] / 1e6);
    const st_interval *f = &record->factor, *s = &record->factor_serial;
    st_buf_printf(out, "%soverlap factor %.2f (%.2f to %.2f); with the measured serial time %.2f (%.2f to %.2f)\n",
                  prefix, st_hundredths(f->value), st_hundredths(f->lo), st_hundredths(f->hi), st_hundredths(s->value),
                  st_hundredths(s->lo), st_hundredths(s->hi));
}

static json_t *spike_json(const st_spike_record *record) {
    json_t *object = json_object(), *samples = json_object();
    st_json_set(&object, "a", st_json_text(record->name[0]));
    st_json_set(&object, "b", st_json_text(record->name[1]));
    st_json_set(&object, "unit_a", st_json_text(record->unit[0]));
    st_json_set(&object, "unit_b", st_json_text(record->unit[1]));
    for (unsigned arm = 0; arm < ST_SPIKE_ARMS; arm++) {
        char key[24];
        snprintf(key, sizeof key, "%s_ns", st_spike_arm_name(arm));
        json_t *list = json_array();
        for (unsigned i = 0; i < record->trials[arm]; i++) st_json_append(&list, st_json_count(record->ns[arm][i]));
        st_json_set(&samples, key, list);
        if (record->complete) st_json_set(&object, key, st_json_real(record->median_ns[arm]));
    }
    if (record->complete) {
        st_json_set(&object, "overlap_factor", st_json_interval(&record->factor));
        st_json_set(&object, "overlap_factor_serial", st_json_interval(&record->factor_serial));
    }
    st_json_set(&object, "samples", samples);
    return object;
}

static json_t *rates_json(const double *rates, unsigned n) {
    json_t *list = json_array();
    for (unsigned i = 0; i < n; i++) st_json_append(&list, st_json_real(rates[i]));
    return list;
}

static json_t *prompt_json(const st_spike_prompt *prompt) {
    json_t *object = json_object();
    st_json_set(&object, "category", st_json_text(prompt->category));
    st_json_set(&object, "prompt_tokens", st_json_count(prompt->n_tokens));
    if (prompt->probed) st_json_set(&object, "probe", spike_json(&prompt->spike));
    st_json_set(&object, "baseline_tokens_per_s", rates_json(prompt->baseline, prompt->n_runs));
    st_json_set(&object, "spike_tokens_per_s", rates_json(prompt->spiked, prompt->n_runs));
    st_json_set(&object, "ids_equal", prompt->n_runs ? json_boolean(prompt->ids_equal) : json_null());
    return object;
}

json_t *st_spike_json(const st_spike_report *report, const st_origin *origin) {
    json_t *object = json_object(), *prompts = json_array();
    enum st_overlap verdict;
    st_interval hull;
    st_json_set(&object, "schema", json_string(ST_SPIKE_SCHEMA));
    if (origin) st_json_origin(&object, origin);
    st_json_set(&object, "model", st_json_text(report->model));
    st_json_set(&object, "decoded_tokens", st_json_count(report->n_decoded));
    st_json_set(&object, "complete", json_boolean(report->complete));
    if (st_spike_report_verdict(report, &verdict, &hull))
        st_json_set(&object, "overlap", json_string(st_overlap_name(verdict)));
    if (report->has_ratio) st_json_set(&object, "decode_ratio", st_json_interval(&report->ratio));
    for (unsigned i = 0; i < report->n_prompts; i++) st_json_append(&prompts, prompt_json(&report->prompts[i]));
    st_json_set(&object, "prompts", prompts);
    return object;
}
