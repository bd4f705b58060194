/* SPDX-License-Identifier: MIT */
#include "run_rates.h"

#include "stat/stat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

run_span run_span_of(const st_job_result *r, uint32_t n_prompt) {
    double first = (double)r->first_token_ns;
    return (run_span){.read_ns = first - (double)r->prefill_ns,
                      .first_ns = first,
                      .last_ns = first + (double)r->decode_ns,
                      .n_prompt = n_prompt,
                      .n_ids = r->n_ids};
}

typedef struct interval {
    double from, to;
} interval;

static int by_start(const void *a, const void *b) {
    double x = ((const interval *)a)->from, y = ((const interval *)b)->from;
    return (x > y) - (x < y);
}

/* How much time the intervals cover together. */
static double covered(interval *list, size_t n) {
    double sum = 0, end = -INFINITY;
    qsort(list, n, sizeof *list, by_start);
    for (size_t i = 0; i < n; i++) {
        double from = list[i].from > end ? list[i].from : end;
        if (list[i].to > from) sum += list[i].to - from, end = list[i].to;
    }
    return sum;
}

static double per_s(double n, double ns) {
    return ns > 0 ? n * 1e9 / ns : 0;
}

run_rates run_rates_of(const run_span *spans, size_t n) {
    interval *list = calloc(n + 1, sizeof *list);
    double *own = calloc(n + 1, sizeof *own);
    double ids = 0, prompts = 0, first = 0;
    size_t n_own = 0;
    run_rates rates = {0};
    if (n > 0 && list && own) {
        for (size_t i = 0; i < n; i++) {
            list[i] = (interval){spans[i].first_ns, spans[i].last_ns};
            ids += spans[i].n_ids - 1;
            prompts += spans[i].n_prompt;
            first += spans[i].first_ns;
            if (spans[i].n_ids > 1) own[n_own++] = per_s(spans[i].n_ids - 1, spans[i].last_ns - spans[i].first_ns);
        }
        rates.tokens_per_s = per_s(ids, covered(list, n));
        for (size_t i = 0; i < n; i++) list[i] = (interval){spans[i].read_ns, spans[i].first_ns};
        rates.prefill_tokens_per_s = per_s(prompts, covered(list, n));
        rates.stream_tokens_per_s = n_own ? st_median(own, n_own) : 0;
        rates.ttft_ms = first / (double)n / 1e6;
    }
    free(own);
    free(list);
    return rates;
}

static void print_line(cli *cx, const char *what, const run_rates *r) {
    cli_note(cx, "%s: %.1f tokens/s, %.1f in each stream; prompts %.1f tokens/s; first token after %.1f ms", what,
             r->tokens_per_s, r->stream_tokens_per_s, r->prefill_tokens_per_s, r->ttft_ms);
}

run_rates run_rates_predicted(const st_sim_result *r) {
    return (run_rates){.tokens_per_s = r->tokens_per_s,
                       .stream_tokens_per_s = r->stream_tokens_per_s,
                       .prefill_tokens_per_s = r->prefill_tokens_per_s,
                       .ttft_ms = r->ttft_ns / 1e6};
}

/* ---- measured beside predicted ---- */

static void extend(uint32_t range[2], uint32_t value, bool first) {
    if (first || value < range[0]) range[0] = value;
    if (first || value > range[1]) range[1] = value;
}

void run_load_add(run_load *load, uint32_t n_prompt, uint32_t n_generated) {
    extend(load->prompt, n_prompt, load->n == 0);
    extend(load->generated, n_generated, load->n == 0);
    load->n++;
}

static bool near(const uint32_t range[2], uint32_t planned) {
    return 20ull * range[0] >= 19ull * planned && 20ull * range[1] <= 21ull * planned;
}

static void text_of_range(char *out, size_t size, const uint32_t range[2]) {
    if (range[0] == range[1])
        snprintf(out, size, "%u", range[0]);
    else
        snprintf(out, size, "%u to %u", range[0], range[1]);
}

static void print_why_not(cli *cx, const run_load *load, const st_workload *planned) {
    char prompt[32], generated[32];
    text_of_range(prompt, sizeof prompt, load->prompt);
    text_of_range(generated, sizeof generated, load->generated);
    cli_note(cx,
             "not to be compared: predicted for %u prompt%s of %u tokens, %u generated; %s %u of %s tokens, %s "
             "generated",
             planned->streams, planned->streams == 1 ? "" : "s", planned->prompt, planned->generate,
             load->n == 1 ? "this was" : "these were", load->n, prompt, generated);
}

static void print_quotients(cli *cx, const run_rates *measured, const run_rates *predicted) {
    const struct {
        double measured, predicted;
        const char *what;
    } parts[] = {{measured->tokens_per_s, predicted->tokens_per_s, " for tokens/s"},
                 {measured->prefill_tokens_per_s, predicted->prefill_tokens_per_s, " for prompts"},
                 {measured->ttft_ms, predicted->ttft_ms, " for the first token"}};
    char text[160];
    int at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!(parts[i].measured > 0 && parts[i].predicted > 0)) continue;
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%.2f%s", at ? ", " : "",
                       parts[i].measured / parts[i].predicted, parts[i].what);
    }
    if (at > 0) cli_note(cx, "measured over predicted: %s", text);
}

void run_rates_print(cli *cx, const run_rates *measured, const run_load *load, const run_expected *expected) {
    const st_workload *planned = &expected->workload;
    print_line(cx, "measured", measured);
    if (!expected->there) return;
    print_line(cx, "predicted", &expected->rates);
    if (!expected->for_known)
        cli_note(cx, "not to be compared: the schedule has no \"workload\", for which it was predicted");
    else if (load->n != planned->streams || !near(load->prompt, planned->prompt) ||
             !near(load->generated, planned->generate))
        print_why_not(cx, load, planned);
    else
        print_quotients(cx, measured, &expected->rates);
}
