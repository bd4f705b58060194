/* SPDX-License-Identifier: MIT */
#include "spike_report.h"

#include "json_out.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define THRESHOLD 0.10 /* below: one after the other, as in the original's reading of 0.02 to 0.06 */

int spike_result_finish(spike_result *r, stretto_error *err) {
    double x[SPIKE_PROMPTS * SPIKE_MAX_PAIRS];
    size_t n = 0;
    for (unsigned i = 0; i < r->n_rows; i++) {
        for (unsigned k = 0; k < r->rows[i].n_pairs; k++) {
            if (r->rows[i].off[k] > 0) x[n++] = r->rows[i].on[k] / r->rows[i].off[k];
        }
    }
    r->has_ratio = n > 0;
    if (!n) return STRETTO_OK;
    st_rng rng;
    st_rng_seed(&rng, 1);
    return st_bootstrap_median(x, n, 0.95, 2000, &rng, &r->ratio, err);
}

/* The hull of all intervals: what can be said of every prompt. */
static st_interval hull(const spike_result *r) {
    st_interval h = {.lo = INFINITY, .hi = -INFINITY};
    for (unsigned i = 0; i < r->n_rows; i++) {
        if (!r->rows[i].probed) continue;
        h.lo = fmin(h.lo, r->rows[i].trials.factor.lo);
        h.hi = fmax(h.hi, r->rows[i].trials.factor.hi);
    }
    return h;
}

static const char *verdict_word(const spike_result *r) {
    st_interval h = hull(r);
    if (!(h.lo <= h.hi)) return "unmeasured";
    if (h.hi < THRESHOLD) return "serialises";
    return h.lo >= THRESHOLD ? "overlaps" : "undecided";
}

static bool is_word(const char *word, const char *other) { return strcmp(word, other) == 0; }

static void head(st_buf *out, const spike_result *r) {
    const session *s = r->s;
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%d", &utc);
    st_buf_printf(out, "# Staged chunk pipelining: feasibility spike\n\nDate: %s. Stretto %s.\n", date, STRETTO_VERSION);
    st_buf_printf(out, "Scope: can the steps of two different chunks of one model overlap on this machine?\n\n## TL;DR\n\n");
    const char *word = verdict_word(r);
    st_interval h = hull(r);
    if (is_word(word, "serialises")) {
        st_buf_printf(out, "**They do not overlap.** Started together from two queues, the two chunks take as long as one after the "
                           "other: the overlap factor is %.2f to %.2f over all prompts (1.0 = perfect overlap, 0.0 = none).\n",
                      h.lo, h.hi);
    } else if (is_word(word, "overlaps")) {
        st_buf_printf(out, "**They overlap**, with a factor of %.2f to %.2f over all prompts (1.0 = perfect overlap, 0.0 = none).\n",
                      h.lo, h.hi);
    } else if (is_word(word, "undecided")) {
        st_buf_printf(out, "**Ten trials do not decide it**: the overlap factor lies between %.2f and %.2f. `stretto probe` measures "
                           "until it knows.\n",
                      h.lo, h.hi);
    } else {
        st_buf_text(out, "**Nothing was measured.**\n");
    }
    st_buf_printf(out, "\n## Methodology\n\n- Host: %s, %u cores allowed, Linux %s. Kernels: %s.\n- Model: %s (%s), %u chunks:",
                  s->lanes.host.cpu_model, s->lanes.host.n_cores, s->lanes.host.kernel, s->kern->name, s->model->name,
                  st_model_arch_name(s->model), s->n_chunks);
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        char layers[40];
        cli_span_text(layers, sizeof layers, &s->spans[i], i + 1 == s->n_chunks);
        st_buf_printf(out, " %u (%s)", i + 1, layers);
    }
    st_buf_text(out, ".\n");
}

static void method(st_buf *out, const spike_result *r) {
    const spike_trials *t = &r->rows[0].trials;
    st_buf_printf(out,
                  "- The probe runs once after a throw-away decode step and before the prompt; the model's state is reset after "
                  "it. It is what `CHUNK_PIPELINE_SPIKE=1 stretto run` does.\n"
                  "- Inputs mirror a decode step of token 0 at position 1; chunk %u gets the hidden state that the chunk before it "
                  "has just produced, and the KV that it borrows where the model has such.\n"
                  "- In this order, caches warm: %d trials of chunk %u, %d of chunk %u, %d of one after the other, %d of both "
                  "together, chunk %u from one queue (%s) and chunk %u from another (%s), joined.\n"
                  "- Overlap factor = (T%u + T%u - parallel) / min(T%u, T%u), medians; in brackets the 95 %% bootstrap interval over "
                  "trials. The second factor has the measured time of both in a row in place of T%u + T%u.\n"
                  "- Decode: %u tokens after the prompt, greedy, not ended by the model; runs with and without the probe take turns. "
                  "Tokens/s exclude the prompt and the first token.\n\n",
                  t->b, SPIKE_TRIALS, t->a, SPIKE_TRIALS, t->b, SPIKE_TRIALS, SPIKE_TRIALS, t->a, t->unit_a, t->b, t->unit_b, t->a,
                  t->b, t->a, t->b, t->a, t->b, r->n_tokens);
}

static void chunk_table(st_buf *out, const spike_result *r) {
    const spike_trials *first = &r->rows[0].trials;
    st_buf_printf(out, "## Results\n\n| prompt category | c%u (ms) | c%u (ms) | serial both (ms) | parallel (ms) | overlap factor | with "
                       "measured serial |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
                  first->a, first->b);
    for (unsigned i = 0; i < r->n_rows; i++) {
        const spike_trials *t = &r->rows[i].trials;
        if (!r->rows[i].probed) continue;
        st_buf_printf(out, "| %s | %.3f | %.3f | %.3f | %.3f | %.2f (%.2f to %.2f) | %.2f (%.2f to %.2f) |\n", r->rows[i].category,
                      t->ms[ST_ARM_SOLO_A], t->ms[ST_ARM_SOLO_B], t->ms[ST_ARM_SERIAL], t->ms[ST_ARM_PARALLEL], t->factor.value,
                      t->factor.lo, t->factor.hi, t->factor_serial.value, t->factor_serial.lo, t->factor_serial.hi);
    }
}

static double median_rate(const double *rates, unsigned n) {
    double x[SPIKE_MAX_PAIRS];
    memcpy(x, rates, n * sizeof *x);
    return n ? st_median(x, n) : 0;
}

static void decode_table(st_buf *out, const spike_result *r) {
    st_buf_printf(out, "\nDecode of %u tokens, medians of %u runs each:\n\n| prompt category | prompt tokens | baseline tokens/s | spike "
                       "tokens/s | same ids |\n| --- | ---: | ---: | ---: | --- |\n",
                  r->n_tokens, r->n_pairs);
    for (unsigned i = 0; i < r->n_rows; i++) {
        const spike_row *row = &r->rows[i];
        if (row->n_pairs == 0) continue;
        st_buf_printf(out, "| %s | %u | %.2f | %.2f | %s |\n", row->category, row->n_prompt, median_rate(row->off, row->n_pairs),
                      median_rate(row->on, row->n_pairs), row->ids_equal ? "yes" : "**no**");
    }
    if (!r->has_ratio) return;
    st_buf_printf(out, "\nWith the probe over without: %.3f (%.3f to %.3f), the median of all pairs of runs. %s\n", r->ratio.value,
                  r->ratio.lo, r->ratio.hi,
                  r->ratio.lo <= 1 && r->ratio.hi >= 1 ? "No effect on decode can be seen." : "The interval leaves out 1.");
}

static void conclusion(st_buf *out, const spike_result *r) {
    const char *word = verdict_word(r);
    const spike_trials *t = &r->rows[0].trials;
    bool one_unit = is_word(t->unit_a, t->unit_b);
    st_buf_text(out, "\n## Verdict\n\n");
    if (is_word(word, "serialises") && one_unit) {
        st_buf_printf(out, "**Do not pursue staged pipelining on %s**: a second queue does not make it run two chunks at once. A "
                           "second unit might: `stretto probe` measures two sets of cores, and says what it would be worth.\n",
                      t->unit_a);
    } else if (is_word(word, "serialises")) {
        st_buf_printf(out, "**Do not pursue staged pipelining on %s and %s**: they do not run the two chunks at once. `stretto probe` "
                           "says what holds them back.\n",
                      t->unit_a, t->unit_b);
    } else if (is_word(word, "overlaps")) {
        st_buf_printf(out, "**Overlap alone is no reason to build it.** One stream decodes token, chunk 1, ..., chunk %u, token: a chain "
                           "in which nothing can run beside anything. Several streams or micro-batches of a prompt could use it.\n",
                      r->s->n_chunks);
    } else {
        st_buf_text(out, "Undecided here; `stretto probe` takes as many rounds as it needs.\n");
    }
    if (!r->complete) st_buf_text(out, "\nThis run was interrupted: the tables hold what was finished.\n");
    st_buf_text(out, "\n## Raw data\n\nEvery trial and run: `spike.log` (text) and `spike.json` (nanoseconds).\n");
}

void spike_markdown(st_buf *out, const spike_result *r) {
    head(out, r);
    if (r->n_rows == 0 || !r->rows[0].probed) return;
    method(out, r);
    chunk_table(out, r);
    decode_table(out, r);
    conclusion(out, r);
}

/* ---- JSON ---- */

static json_t *interval_json(const st_interval *i) {
    return json_pack("{s:o, s:o, s:o}", "value", cli_json_real(i->value), "lo", cli_json_real(i->lo), "hi", cli_json_real(i->hi));
}

static json_t *trials_json(const spike_trials *t) {
    static const enum st_arm arms[] = {ST_ARM_SOLO_A, ST_ARM_SOLO_B, ST_ARM_SERIAL, ST_ARM_PARALLEL};
    json_t *samples = json_object(), *medians = json_object();
    for (unsigned k = 0; k < sizeof arms / sizeof *arms; k++) {
        json_t *list = json_array();
        for (unsigned i = 0; i < SPIKE_TRIALS; i++) cli_json_append(&list, json_integer((json_int_t)t->ns[arms[k]][i]));
        cli_json_set(&samples, st_arm_name(arms[k]), list);
        cli_json_set(&medians, st_arm_name(arms[k]), json_integer((json_int_t)llround(t->ms[arms[k]] * 1e6)));
    }
    return json_pack("{s:i, s:i, s:s, s:s, s:o, s:o, s:o, s:o}", "a", (int)t->a, "b", (int)t->b, "unit_a", t->unit_a, "unit_b",
                     t->unit_b, "median_ns", medians, "samples", samples, "overlap_factor", interval_json(&t->factor),
                     "overlap_factor_serial", interval_json(&t->factor_serial));
}

static json_t *rates_json(const double *rates, unsigned n) {
    json_t *list = json_array();
    for (unsigned i = 0; i < n; i++) cli_json_append(&list, cli_json_real(rates[i]));
    return list;
}

json_t *spike_json(const spike_result *r) {
    json_t *prompts = json_array();
    for (unsigned i = 0; i < r->n_rows; i++) {
        const spike_row *row = &r->rows[i];
        json_t *item = json_pack("{s:s, s:i, s:o, s:o, s:b}", "category", row->category, "prompt_tokens", (int)row->n_prompt,
                                 "baseline_tokens_per_s", rates_json(row->off, row->n_pairs), "spike_tokens_per_s",
                                 rates_json(row->on, row->n_pairs), "ids_equal", (int)row->ids_equal);
        if (row->probed) cli_json_set(&item, "probe", trials_json(&row->trials));
        cli_json_append(&prompts, item);
    }
    return json_pack("{s:o, s:s, s:o, s:i, s:b, s:o}", "prompts", prompts, "overlap", verdict_word(r), "decode_ratio",
                     r->has_ratio ? interval_json(&r->ratio) : json_null(), "decode_tokens", (int)r->n_tokens, "complete",
                     (int)r->complete, "model", cli_json_session(r->s));
}
