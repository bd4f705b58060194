/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include "base/error.h"
#include "json_out.h"
#include "report/text.h"
#include "stat/stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rates {
    double median, min, max; /* tokens a second */
} rates;

bench_test *bench_add(bench_list *list, const bench_test *like, uint32_t repetitions, stretto_error *err) {
    uint64_t *samples = calloc(repetitions, sizeof *samples);
    uint64_t *chunks = calloc((size_t)repetitions * like->n_chunks, sizeof *chunks);
    double *reads = calloc((size_t)repetitions + 1, sizeof *reads);
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 16;
        bench_test *more = realloc(list->tests, cap * sizeof *more);
        if (more) list->tests = more, list->cap = cap;
    }
    if (!samples || !chunks || !reads || list->n == list->cap) {
        free(samples);
        free(chunks);
        free(reads);
        st_fail_memory(err, "the samples", (unsigned long long)repetitions * (1 + like->n_chunks) * sizeof *samples);
        return NULL;
    }
    bench_test *t = &list->tests[list->n++];
    *t = *like;
    t->samples_ns = samples;
    t->chunks_ns = chunks;
    t->reads = reads;
    snprintf(t->name, sizeof t->name, "%s%u", t->decode ? "tg" : "pp", t->tokens);
    if (t->depth) snprintf(t->name, sizeof t->name, "%s%u@d%u", t->decode ? "tg" : "pp", t->tokens, t->depth);
    return t;
}

void bench_free(bench_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->tests[i].samples_ns);
        free(list->tests[i].chunks_ns);
        free(list->tests[i].reads);
    }
    free(list->tests);
    *list = (bench_list){0};
}

static double rate(const bench_test *t, double ns) {
    return t->tokens * 1e9 / ns;
}

/* Of the samples so far, at least one. */
static rates rates_of(const bench_test *t) {
    rates r = {.min = rate(t, (double)t->samples_ns[0]), .max = rate(t, (double)t->samples_ns[0])};
    double *x = calloc(t->n_samples, sizeof *x);
    for (uint32_t i = 0; i < t->n_samples; i++) {
        double v = rate(t, (double)t->samples_ns[i]);
        r.min = v < r.min ? v : r.min;
        r.max = v > r.max ? v : r.max;
        if (x) x[i] = v;
    }
    r.median = x ? st_median(x, t->n_samples) : r.min;
    free(x);
    return r;
}

/* The median of n of x[n * step], 0 when memory is out. */
static double median_ns(const uint64_t *ns, uint32_t n, size_t step) {
    double *x = calloc(n, sizeof *x);
    if (!x) return 0;
    for (uint32_t i = 0; i < n; i++) x[i] = (double)ns[i * step];
    double median = st_median(x, n);
    free(x);
    return median;
}

double bench_token_ns(const bench_test *t) {
    return median_ns(t->samples_ns, t->n_samples, 1) / t->tokens;
}

double bench_chunk_ns(const bench_test *t, uint32_t chunk) {
    return median_ns(t->chunks_ns + chunk, t->n_samples, t->n_chunks) / t->tokens;
}

double bench_read_share(const bench_test *t, uint64_t bytes) {
    double *shares = calloc(t->n_samples, sizeof *shares);
    if (!shares) return 0;
    bool read = true;
    for (uint32_t i = 0; i < t->n_samples; i++) {
        read = read && t->reads[i] > 0 && t->reads[i + 1] > 0;
        double rate = (double)bytes * t->tokens / (double)t->samples_ns[i];
        shares[i] = read ? rate / ((t->reads[i] + t->reads[i + 1]) / 2) : 0;
    }
    double share = read ? st_median(shares, t->n_samples) : 0;
    free(shares);
    return share;
}

double bench_plain_read(const bench_test *t) {
    double *reads = calloc(t->n_samples + 1u, sizeof *reads);
    uint32_t n = 0;
    for (; reads && n <= t->n_samples && t->reads[n] > 0; n++) reads[n] = t->reads[n];
    double median = n > 0 ? st_median(reads, n) : 0;
    free(reads);
    return median;
}

void bench_head(cli *cx, const char *format, const session *s) {
    if (strcmp(format, "csv") == 0) cli_printf(cx, "test,threads,tokens,depth,sample,ns,tokens_per_s\n");
    if (strcmp(format, "md") == 0) {
        cli_printf(cx, "| test | threads | tokens/s, median | min | max |\n| --- | ---: | ---: | ---: | ---: |\n");
    }
    if (strcmp(format, "text") == 0) {
        cli_host_line(cx, s);
        cli_printf(cx, "\n  test               threads  tokens/s: median         min         max\n");
    }
}

void bench_row(cli *cx, const char *format, const bench_test *t) {
    rates r = rates_of(t);
    if (strcmp(format, "csv") == 0) {
        for (uint32_t i = 0; i < t->n_samples; i++) {
            cli_printf(cx, "%s,%u,%u,%u,%u,%" PRIu64 ",%.6g\n", t->name, t->threads, t->tokens, t->depth, i,
                       t->samples_ns[i], rate(t, (double)t->samples_ns[i]));
        }
    }
    if (strcmp(format, "md") == 0) {
        cli_printf(cx, "| %s | %u | %.2f | %.2f | %.2f |\n", t->name, t->threads, r.median, r.min, r.max);
    }
    if (strcmp(format, "text") == 0) {
        st_figure median, min, max;
        cli_printf(cx, "  %-18s %7u %17s %11s %11s\n", t->name, t->threads, st_figure_of(median, r.median),
                   st_figure_of(min, r.min), st_figure_of(max, r.max));
    }
}

static json_t *chunks_json(const bench_test *t) {
    json_t *chunks = json_array();
    for (uint32_t c = 0; c < t->n_chunks; c++) {
        json_t *ns = json_array();
        for (uint32_t i = 0; i < t->n_samples; i++)
            st_json_append(&ns, json_integer((json_int_t)t->chunks_ns[(size_t)i * t->n_chunks + c]));
        st_json_append(&chunks, json_pack("{s:i, s:f, s:o}", "chunk", (int)c + 1, "ms_per_token",
                                          bench_chunk_ns(t, c) / 1e6, "samples_ns", ns));
    }
    return chunks;
}

static json_t *test_json(const bench_test *t) {
    rates r = rates_of(t);
    json_t *per_second = json_array(), *ns = json_array();
    for (uint32_t i = 0; i < t->n_samples; i++) {
        st_json_append(&per_second, json_real(rate(t, (double)t->samples_ns[i])));
        st_json_append(&ns, json_integer((json_int_t)t->samples_ns[i]));
    }
    json_t *reads = json_array();
    for (uint32_t i = 0; i <= t->n_samples && t->reads[i] > 0; i++) st_json_append(&reads, json_real(t->reads[i]));
    json_t *speed =
        json_pack("{s:f, s:f, s:f, s:o}", "median", r.median, "min", r.min, "max", r.max, "samples", per_second);
    return json_pack("{s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:o}", "name", t->name, "threads", (int)t->threads, "tokens",
                     (int)t->tokens, "depth", (int)t->depth, "tokens_per_s", speed, "samples_ns", ns, "chunks",
                     chunks_json(t), "plain_read_gb_per_s", reads);
}

json_t *bench_json(const bench_list *list, const session *s, uint32_t repetitions) {
    json_t *tests = json_array();
    for (size_t i = 0; i < list->n; i++) {
        if (list->tests[i].n_samples > 0) st_json_append(&tests, test_json(&list->tests[i]));
    }
    json_t *root =
        json_pack("{s:o, s:i, s:o}", "tests", tests, "repetitions", (int)repetitions, "file", st_json_text(s->path));
    if (s->model) {
        st_json_set(&root, "model", cli_json_session(s));
        st_json_set(&root, "load_ms", st_json_real((double)s->model->load_ns / 1e6));
    }
    return root;
}
