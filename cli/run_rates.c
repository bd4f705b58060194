/* SPDX-License-Identifier: MIT */
#include "run_rates.h"

#include "stat/stat.h"
#include "json/build.h"

#include <math.h>
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

run_rates run_rates_of_sim(const st_sim_rates *r) {
    return (run_rates){r->tokens_per_s, r->stream_tokens_per_s, r->prefill_tokens_per_s, r->ttft_ns / 1e6};
}

run_rates run_rates_predicted(const st_sim_result *r) {
    return (run_rates){.tokens_per_s = r->tokens_per_s,
                       .stream_tokens_per_s = r->stream_tokens_per_s,
                       .prefill_tokens_per_s = r->prefill_tokens_per_s,
                       .ttft_ms = r->ttft_ns / 1e6};
}

void run_rates_print(cli *cx, const char *what, const run_rates *r) {
    cli_note(cx, "%s: %.1f tokens/s, %.1f in each stream; prompts %.1f tokens/s; first token after %.1f ms", what,
             r->tokens_per_s, r->stream_tokens_per_s, r->prefill_tokens_per_s, r->ttft_ms);
}

json_t *run_rates_json(const run_rates *r) {
    json_t *object = json_object();
    st_json_set(&object, "tokens_per_s", st_json_real(r->tokens_per_s));
    st_json_set(&object, "stream_tokens_per_s", st_json_real(r->stream_tokens_per_s));
    st_json_set(&object, "prefill_tokens_per_s", st_json_real(r->prefill_tokens_per_s));
    st_json_set(&object, "ttft_ns", st_json_real(1e6 * r->ttft_ms));
    return object;
}
