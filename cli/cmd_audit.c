/* SPDX-License-Identifier: MIT
 * What is timed: each chunk of a decode step from start to end as its unit stamped them, in real decode steps through
 * the whole chain. What is not: the prompt before, choosing and embedding nothing else than the step itself does. */
#include "commands.h"

#include "base/error.h"
#include "json_out.h"
#include "report/text.h"
#include "stat/stat.h"

#include <stdlib.h>
#include <string.h>

#define WARM_UP 3

typedef struct audit_options {
    session_options session;
    uint32_t depth, steps;
    bool json;
} audit_options;

typedef struct audit_row {
    double *ns; /* [steps] */
    double median_ns;
    uint64_t bytes; /* weights and KV that the step reads */
} audit_row;

typedef struct audit_work {
    cli *cx;
    const audit_options *o;
    session s;
    audit_row rows[ST_MAX_CHUNKS];
    double *step_ns; /* [steps] from the first chunk's start to the last one's end */
    double step_median_ns;
    uint32_t n_steps; /* done */
} audit_work;

static int make_room(audit_work *w, stretto_error *err) {
    w->step_ns = calloc(w->o->steps, sizeof *w->step_ns);
    bool good = w->step_ns != NULL;
    for (uint32_t i = 0; i < w->s.n_chunks && good; i++) {
        w->rows[i].ns = calloc(w->o->steps, sizeof *w->rows[i].ns);
        good = w->rows[i].ns != NULL;
    }
    return good ? STRETTO_OK : st_fail_memory(err, "the samples", (unsigned long long)w->o->steps * sizeof(double));
}

/* Fills the context up to the wanted depth; any token does, the work is the same. */
static int fill_context(audit_work *w, stretto_error *err) {
    static const int32_t some[64];
    uint32_t left = w->o->depth;
    while (left > 0) {
        uint32_t n = left < 64 ? left : 64;
        cli_progress(w->cx, "reading the context: %u of %u tokens", w->o->depth - left, w->o->depth);
        int rc = st_chain_forward(w->s.chain, some, n, ST_WANT_NONE, NULL, NULL, err);
        if (rc) return rc;
        left -= n;
    }
    return STRETTO_OK;
}

static void take_times(audit_work *w) {
    uint64_t first = 0, last = 0;
    for (uint32_t i = 0; i < w->s.n_chunks; i++) {
        uint64_t start, end;
        st_chain_times(w->s.chain, i, &start, &end);
        w->rows[i].ns[w->n_steps] = (double)(end - start);
        if (i == 0) first = start;
        last = end;
    }
    w->step_ns[w->n_steps++] = (double)(last - first);
}

static int measure(audit_work *w, stretto_error *err) {
    int32_t id = 0;
    for (uint32_t i = 0; i < w->o->steps + WARM_UP; i++) {
        if (cli_stopped(w->cx)) return st_fail(err, STRETTO_E_STOPPED, "interrupted after %u steps", w->n_steps);
        int rc = st_chain_forward(w->s.chain, &id, 1, ST_WANT_LAST, NULL, NULL, err);
        if (rc) return rc;
        id = st_chain_argmax(w->s.chain);
        if (i >= WARM_UP) take_times(w);
        cli_progress(w->cx, "auditing: step %u of %u", w->n_steps, w->o->steps);
    }
    return STRETTO_OK;
}

static double median_of(const double *x, size_t n) {
    double *copy = calloc(n, sizeof *copy);
    if (!copy) return 0;
    memcpy(copy, x, n * sizeof *copy);
    double median = st_median(copy, n);
    free(copy);
    return median;
}

static void summarise(audit_work *w) {
    enum st_kv_type kv = strcmp(w->o->session.kv_type, "f32") == 0 ? ST_KV_F32 : ST_KV_F16;
    uint32_t middle = w->o->depth + WARM_UP + w->n_steps / 2;
    for (uint32_t i = 0; i < w->s.n_chunks; i++) {
        const st_chunk *chunk = st_chain_chunk(w->s.chain, i);
        w->rows[i].median_ns = median_of(w->rows[i].ns, w->n_steps);
        w->rows[i].bytes = chunk->bytes + st_kv_read_bytes(w->s.model, chunk->span, kv, middle);
    }
    w->step_median_ns = median_of(w->step_ns, w->n_steps);
}

/* ---- what follows from the times ---- */

static double chunk_sum_ns(const audit_work *w) {
    double sum = 0;
    for (uint32_t i = 0; i < w->s.n_chunks; i++) sum += w->rows[i].median_ns;
    return sum;
}

static double longest_ns(const audit_work *w) {
    double longest = 0;
    for (uint32_t i = 0; i < w->s.n_chunks; i++) {
        if (w->rows[i].median_ns > longest) longest = w->rows[i].median_ns;
    }
    return longest;
}

/* What running this chunk perfectly beside the others would take off the step: the whole chunk, unless it is longer
 * than all others together, which it cannot hide behind. */
static double headroom_ns(const audit_work *w, uint32_t i) {
    double own = w->rows[i].median_ns, others = chunk_sum_ns(w) - own;
    return own < others ? own : others;
}

/* ---- output ---- */

static json_t *samples_json(const double *ns, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) st_json_append(&list, json_integer((json_int_t)ns[i]));
    return list;
}

static json_t *row_json(const audit_work *w, uint32_t i) {
    const st_chunk *c = st_chain_chunk(w->s.chain, i);
    const audit_row *r = &w->rows[i];
    st_unit_info info;
    st_unit_info_get(w->s.unit_of[i], &info);
    return json_pack("{s:s, s:[i, i], s:b, s:s, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:o}", "name", c->name, "layers",
                     (int)c->span.first, (int)c->span.last, "head", (int)c->head, "unit", info.name, "ms",
                     r->median_ns / 1e6, "share", r->median_ns / w->step_median_ns, "bytes", (json_int_t)r->bytes,
                     "operations", (json_int_t)c->operations, "gb_per_s", (double)r->bytes / r->median_ns, "headroom",
                     headroom_ns(w, i) / w->step_median_ns, "headroom_ms", headroom_ns(w, i) / 1e6, "samples_ns",
                     samples_json(r->ns, w->n_steps));
}

static int print_json(const audit_work *w, stretto_error *err) {
    json_t *chunks = json_array();
    for (uint32_t i = 0; i < w->s.n_chunks; i++) st_json_append(&chunks, row_json(w, i));
    json_t *root =
        json_pack("{s:o, s:f, s:i, s:i, s:f, s:o, s:o}", "chunks", chunks, "step_ms", w->step_median_ns / 1e6, "depth",
                  (int)w->o->depth, "steps", (int)w->n_steps, "staged_speedup", w->step_median_ns / longest_ns(w),
                  "samples_ns", samples_json(w->step_ns, w->n_steps), "model", cli_json_session(&w->s));
    return cli_json_print(w->cx, root, &w->s.lanes.host, err);
}

static void print_row(const audit_work *w, uint32_t i) {
    const st_chunk *c = st_chain_chunk(w->s.chain, i);
    const audit_row *r = &w->rows[i];
    double step = w->step_median_ns, saving = headroom_ns(w, i);
    st_unit_info info;
    st_unit_info_get(w->s.unit_of[i], &info);
    char layers[40];
    st_figure ms, rate, saved;
    cli_span_text(layers, sizeof layers, &c->span, c->head);
    cli_printf(w->cx, "  %-6u %-13s %-11s %8s %5.1f %% %8s %8s ms %5.1f %%\n", i + 1, layers, info.name,
               st_figure_ms(ms, r->median_ns), 100 * r->median_ns / step,
               st_figure_of(rate, (double)r->bytes / r->median_ns), st_figure_ms(saved, saving), 100 * saving / step);
}

static void print_text(const audit_work *w) {
    cli *cx = w->cx;
    double between = w->step_median_ns - chunk_sum_ns(w);
    st_figure figure;
    cli_host_line(cx, &w->s);
    cli_printf(cx, "decode steps after %u tokens, medians of %u\n\n", w->o->depth, w->n_steps);
    cli_printf(cx, "  chunk  layers        unit              ms   share     GB/s           headroom\n");
    for (uint32_t i = 0; i < w->s.n_chunks; i++) print_row(w, i);
    cli_printf(cx, "\n  headroom: what a perfect overlap with the others would take off the step\n");
    cli_printf(cx, "  step %s ms", st_figure_ms(figure, w->step_median_ns));
    cli_printf(cx, " (%s tokens/s)", st_figure_of(figure, 1e9 / w->step_median_ns));
    cli_printf(cx, ", of which between chunks %s ms\n", st_figure_ms(figure, between > 0 ? between : 0));
    cli_printf(cx,
               "  all chunks staged and perfectly overlapped: at most %.2f times as many\n"
               "  tokens, from several streams; one stream cannot: token, chunk 1, ...,\n"
               "  chunk %u, token is a chain\n",
               w->step_median_ns / longest_ns(w), w->s.n_chunks);
}

static int audit(audit_work *w, stretto_error *err) {
    int rc = session_open_file(&w->s, w->cx, &w->o->session, err);
    if (!rc) rc = session_open_model(&w->s, err);
    uint32_t needed = w->o->depth + w->o->steps + WARM_UP;
    if (!rc) rc = session_open_chain(&w->s, needed, 0, 0, err);
    if (!rc) rc = make_room(w, err);
    if (!rc) rc = fill_context(w, err);
    if (rc) return rc;
    rc = measure(w, err);
    cli_progress_end(w->cx);
    if ((rc && rc != STRETTO_E_STOPPED) || w->n_steps == 0) return rc;
    summarise(w);
    int printed = STRETTO_OK;
    if (w->o->json) {
        printed = print_json(w, err);
    } else {
        print_text(w);
    }
    return rc ? rc : printed;
}

static int audit_run(cli *cx, const void *options, stretto_error *err) {
    audit_work w = {.cx = cx, .o = options};
    int rc = audit(&w, err);
    for (uint32_t i = 0; i < ST_MAX_CHUNKS; i++) free(w.rows[i].ns);
    free(w.step_ns);
    session_close(&w.s);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(audit_options, field)
static const cli_option audit_table[] = {
    SESSION_MODEL(audit_options),
    SESSION_LIKE(audit_options),
    {.name = "depth", .letter = 'd', .kind = CLI_COUNT, .at = AT(depth), .value = "N", .preset = "64", .most = 1000000,
     .help = "tokens in the context before the first measured step"},
    {.name = "steps", .letter = 'r', .kind = CLI_COUNT, .at = AT(steps), .value = "R", .preset = "50", .least = 1,
     .most = 100000,
     .help = "decode steps to measure"},
    SESSION_CHUNKS(audit_options),
    SESSION_PLACEMENT(audit_options),
    SESSION_MEMORY(audit_options),
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print JSON, with all samples"},
    {0},
};
static const char *const audit_usages[] = {"-m MODEL [--chunks CHUNKS] [options] [--json]", NULL};
static const cli_example audit_examples[] = {
    {"stretto audit -m smollm2", "where a decode step's time goes"},
    {"stretto audit -m gemma3-270m --chunks 3 --threads 1 --json", "another split, for a program"},
    {0},
};

const cli_command cmd_audit = {
    .name = "audit",
    .summary = "where a decode step's time goes, and what overlap could save",
    .usages = audit_usages,
    .about = "Decodes for a while and shows for each chunk its time, its share of the step, the rate at which it "
             "reads weights and KV, and its headroom: what a perfect overlap of this chunk with the others would "
             "take off the step. That is an upper bound from the times alone; stretto probe measures how much of it "
             "a machine grants.",
    .options = audit_table,
    .examples = audit_examples,
    .options_size = sizeof(audit_options),
    .run = audit_run,
};
