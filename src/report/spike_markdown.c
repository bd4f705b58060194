/* SPDX-License-Identifier: MIT
 * The report in the form of the original: TL;DR, methodology, the chunk table, the decode table, interpretation,
 * verdict. Every number and every sentence that judges comes from the record. */
#include "report/spike_report.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

/* The first probe, which says what all have in common; NULL when there is none. */
static const st_spike_record *first_spike(const st_spike_report *report) {
    for (unsigned i = 0; i < report->n_prompts; i++)
        if (report->prompts[i].probed && report->prompts[i].spike.complete) return &report->prompts[i].spike;
    return NULL;
}

static bool is_one_unit(const st_spike_record *spike) {
    return strcmp(spike->unit[0], spike->unit[1]) == 0;
}

static void head(st_buf *out, const st_origin *origin) {
    st_buf_text(out, "# Staged chunk pipelining: feasibility spike\n\n");
    struct tm utc;
    char date[16];
    if (origin && origin->when && gmtime_r(&origin->when, &utc) && strftime(date, sizeof date, "%Y-%m-%d", &utc))
        st_buf_printf(out, "Date: %s. ", date);
    if (origin && origin->version) st_buf_printf(out, "Stretto %s.", origin->version);
    st_buf_text(
        out, "\nScope: can the steps of two different chunks of one model run at the same time here?\n\n## TL;DR\n\n");
}

static void summary(st_buf *out, const st_spike_report *report) {
    enum st_overlap verdict;
    st_interval hull;
    if (!st_spike_report_verdict(report, &verdict, &hull)) {
        st_buf_text(out, "**Nothing was measured.**\n");
        return;
    }
    unsigned n = st_spike_report_probed(report);
    if (!report->complete)
        st_buf_printf(out, "**Incomplete: %u of %d prompts were probed** before the run ended; no verdict.", n,
                      ST_SPIKE_PROMPTS);
    else if (verdict == ST_OVERLAP_SERIALISES)
        st_buf_text(out,
                    "**They do not.** Started together from two queues, the two take as long as one after the other.");
    else if (verdict == ST_OVERLAP_OVERLAPS)
        st_buf_text(out, "**They do**, at least in part.");
    else
        st_buf_text(out, "**Ten trials do not decide it.** `stretto probe` measures until it knows.");
    st_buf_printf(out,
                  " Overlap factor %.2f, within %.2f to %.2f over %s (1.0 = perfect overlap, 0.0 = full "
                  "serialisation).\n",
                  st_hundredths(hull.value), st_hundredths(hull.lo), st_hundredths(hull.hi),
                  report->complete ? "all prompts" : "what was measured");
}

static void method_place(st_buf *out, const st_spike_report *report, const st_spike_record *spike,
                         const st_origin *origin) {
    st_buf_text(out, "\n## Methodology\n\n");
    if (origin && origin->host) {
        st_buf_text(out, "- Host: ");
        st_text_markdown(out, origin->host->cpu_model);
        st_buf_text(out, ", ");
        st_text_host(out, origin->host, -1);
        st_buf_printf(out, "; Linux %s.\n", origin->host->kernel);
    }
    st_buf_text(out, "- Model: ");
    st_text_markdown(out, report->model);
    st_buf_text(out, ".\n");
    if (!spike) return;
    const char *a = spike->name[0], *b = spike->name[1];
    st_buf_printf(
        out,
        "- The probe runs once, after a throw-away decode step and before the prompt; the model's state is reset after "
        "it. It is what `CHUNK_PIPELINE_SPIKE=1 stretto run` does.\n"
        "- Inputs mirror a decode step at position 1: chunk %s gets embed(0), chunk %s the hidden state that the chunk "
        "before it has just made, and the KV that it borrows where the model has such.\n",
        a, b);
}

static void method_trials(st_buf *out, const st_spike_report *report, const st_spike_record *spike) {
    if (!spike) return;
    const char *a = spike->name[0], *b = spike->name[1];
    st_buf_printf(out,
                  "- In this order, caches warm: %d trials of chunk %s; %d of chunk %s; %d of %s then %s back to back; "
                  "%d of %s on "
                  "queue A (%s) and %s on queue B (%s), joined. Timed is what the caller sees.\n",
                  ST_SPIKE_TRIALS, a, ST_SPIKE_TRIALS, b, ST_SPIKE_TRIALS, a, b, ST_SPIKE_TRIALS, a, spike->unit[0], b,
                  spike->unit[1]);
    st_buf_printf(
        out,
        "- Overlap factor = `(T_c%s + T_c%s - T_parallel) / (T_c%s + T_c%s - max(T_c%s, T_c%s))` of medians. The "
        "second "
        "factor has the measured back-to-back time in place of T_c%s + T_c%s. In brackets 95 %% bootstrap intervals.\n",
        a, b, a, b, a, b, a, b);
    st_buf_printf(out,
                  "- Decode: %u tokens after the prompt, greedy; runs with and without the probe take turns. Tokens/s "
                  "leave out the "
                  "prompt and the first token.\n",
                  report->n_decoded);
}

static void factor_cell(st_buf *out, const st_interval *f) {
    st_buf_printf(out, " %.2f (%.2f to %.2f) |", st_hundredths(f->value), st_hundredths(f->lo), st_hundredths(f->hi));
}

/* Decimals that give the shortest time of the table three figures; all times have as many, since small differences of
 * the long ones are what the table is about. */
static int table_decimals(const st_spike_report *report) {
    double least = HUGE_VAL;
    for (unsigned i = 0; i < report->n_prompts; i++) {
        const st_spike_prompt *prompt = &report->prompts[i];
        for (unsigned arm = 0; prompt->probed && prompt->spike.complete && arm < ST_SPIKE_ARMS; arm++)
            least = fmin(least, prompt->spike.median_ns[arm] / 1e6);
    }
    return least >= 100 ? 0 : least >= 10 ? 1 : least >= 1 ? 2 : 3;
}

static void chunk_table(st_buf *out, const st_spike_report *report, const st_spike_record *spike) {
    st_buf_printf(out,
                  "\n## Results (%u prompts, one per category)\n\n"
                  "| Prompt category | c%s (ms) | c%s (ms) | serial both (ms) | parallel (ms) | overlap factor | with "
                  "measured serial |\n"
                  "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
                  report->n_prompts, spike->name[0], spike->name[1]);
    int decimals = table_decimals(report);
    for (unsigned i = 0; i < report->n_prompts; i++) {
        const st_spike_prompt *prompt = &report->prompts[i];
        if (!prompt->probed || !prompt->spike.complete) continue;
        st_buf_printf(out, "| %s |", prompt->category);
        for (unsigned arm = 0; arm < ST_SPIKE_ARMS; arm++)
            st_buf_printf(out, " %.*f |", decimals, prompt->spike.median_ns[arm] / 1e6);
        factor_cell(out, &prompt->spike.factor);
        factor_cell(out, &prompt->spike.factor_serial);
        st_buf_text(out, "\n");
    }
}

static double median_rate(const double *rates, unsigned n) {
    double sorted[ST_SPIKE_MAX_RUNS];
    memcpy(sorted, rates, n * sizeof *sorted);
    return st_median(sorted, n);
}

static void decode_table(st_buf *out, const st_spike_report *report) {
    st_buf_printf(out,
                  "\n**Decode tok/s with the probe vs default-off** (same prompts, %u tokens, medians):\n\n"
                  "| Prompt category | prompt tokens | runs each | baseline tok/s | spike tok/s | same ids |\n"
                  "| --- | ---: | ---: | ---: | ---: | --- |\n",
                  report->n_decoded);
    for (unsigned i = 0; i < report->n_prompts; i++) {
        const st_spike_prompt *prompt = &report->prompts[i];
        if (prompt->n_runs == 0) continue;
        st_buf_printf(out, "| %s | %u | %u | %.2f | %.2f | %s |\n", prompt->category, prompt->n_tokens, prompt->n_runs,
                      median_rate(prompt->baseline, prompt->n_runs), median_rate(prompt->spiked, prompt->n_runs),
                      prompt->ids_equal ? "yes" : "**no**");
    }
    if (!report->has_ratio) return;
    const st_interval *ratio = &report->ratio;
    st_buf_printf(out, "\nWith the probe over without, median of all pairs of runs: %.3f (%.3f to %.3f). %s\n",
                  ratio->value, ratio->lo, ratio->hi,
                  ratio->lo <= 1 && 1 <= ratio->hi ? "No effect on decode can be seen."
                                                   : "The interval leaves out 1: decode was not the same with it.");
}

/* What the arms say beside the factor: how parallel compares with serial, and how much of that is dispatch. */
static void interpretation(st_buf *out, const st_spike_record *spike) {
    const double *ns = spike->median_ns;
    double gain = ns[ST_SPIKE_SERIAL] - ns[ST_SPIKE_PARALLEL];
    double dispatch = ns[ST_SPIKE_SERIAL] - ns[ST_SPIKE_A] - ns[ST_SPIKE_B];
    st_figure figure;
    st_buf_text(out, "\n## Interpretation (first prompt)\n\n");
    st_buf_printf(out, "- Both together take %s ms (%.1f %%) %s than back to back.\n", st_figure_ms(figure, fabs(gain)),
                  100 * fabs(gain) / ns[ST_SPIKE_SERIAL], gain >= 0 ? "less" : "more");
    st_buf_printf(out, "- Back to back take %s ms %s than the two solo times: what lies between two submissions.\n",
                  st_figure_ms(figure, fabs(dispatch)), dispatch >= 0 ? "more" : "less");
    if (gain > 0 && dispatch > 0 && gain <= 2 * dispatch)
        st_buf_text(
            out, "- So what is gained is of the size of a dispatch: no overlap of the work itself is shown by it.\n");
    st_buf_text(
        out,
        "- Ten trials in a fixed order, as in the original, meet one phase of the machine each. `stretto probe` takes "
        "its arms in turns, tells dispatch from overlap, and names a cause.\n");
}

static void verdict_text(st_buf *out, const st_spike_report *report, const st_spike_record *spike) {
    enum st_overlap verdict;
    st_interval hull;
    st_buf_text(out, "\n## Verdict\n\n");
    st_spike_report_verdict(report, &verdict, &hull);
    if (!report->complete)
        st_buf_printf(out, "**Incomplete**: the run ended early, and %u of %d prompts were probed.\n",
                      st_spike_report_probed(report), ST_SPIKE_PROMPTS);
    else if (verdict == ST_OVERLAP_SERIALISES && is_one_unit(spike))
        st_buf_printf(out,
                      "**Do NOT pursue staged pipelining on %s**: a second queue does not make it run two chunks at "
                      "once. Two units "
                      "might: `stretto probe` measures that too.\n",
                      spike->unit[0]);
    else if (verdict == ST_OVERLAP_SERIALISES)
        st_buf_printf(out,
                      "**Do NOT pursue staged pipelining on %s and %s**: they do not run the two chunks at once.\n",
                      spike->unit[0], spike->unit[1]);
    else if (verdict == ST_OVERLAP_OVERLAPS)
        st_buf_text(
            out, "**Overlap alone is no reason to build it.** In one stream the token comes from the last chunk and "
                 "the next step "
                 "begins with it: a chain, beside which nothing can run. Several streams or micro-batches of a prompt "
                 "could use it.\n");
    else
        st_buf_text(out, "**Undecided.** `stretto probe` takes as many rounds as it needs.\n");
}

void st_spike_markdown(st_buf *out, const st_spike_report *report, const st_origin *origin) {
    const st_spike_record *spike = first_spike(report);
    head(out, origin);
    summary(out, report);
    if (!report->complete) st_buf_text(out, "\nThe run was interrupted: the tables hold what was finished.\n");
    method_place(out, report, spike, origin);
    method_trials(out, report, spike);
    if (spike) chunk_table(out, report, spike);
    decode_table(out, report);
    if (spike) {
        interpretation(out, spike);
        verdict_text(out, report, spike);
    }
    st_buf_text(out, "\n## Raw data\n\nEvery trial and every run are in the log and the JSON beside this file.\n");
}
