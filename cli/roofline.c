/* SPDX-License-Identifier: MIT */
#include "roofline.h"

#include "base/error.h"
#include "base/utf8.h"
#include "device/kernels.h"
#include "device/parts.h"
#include "report/json.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_PEAK "memory read"
#define READ_PIECES 32         /* of the memory, in steps of a plain read in turns with kernels and tests */
#define READ_TURN_NS 60000000u /* for which a plain read is timed before and after a test's repetition */
#define BURN_TURN_NS 5e5       /* of plain arithmetic in turns with kernels */
#define PER_BYTE "GB/s"
#define PER_OPERATION "macs/ns"

static const char *const burn_names[ST_BURNS] = {[ST_BURN_DOTS] = "integer dots", [ST_BURN_F32] = "f32"};

static void free_reads(roofline *roof) {
    for (unsigned i = 0; i < CLI_LANES_MAX; i++) {
        st_control_free(roof->reads[i]);
        roof->reads[i] = NULL;
    }
}

void roofline_free(roofline *roof) {
    free_reads(roof);
    free(roof->rows);
    *roof = (roofline){0};
}

static int add_row(roofline *roof, const roof_row *row, stretto_error *err) {
    if (roof->n == roof->cap) {
        size_t cap = roof->cap ? 2 * roof->cap : 64;
        roof_row *more = realloc(roof->rows, cap * sizeof *more);
        if (!more) return st_fail_memory(err, "rows of the roofline", cap * sizeof *more);
        roof->rows = more;
        roof->cap = cap;
    }
    roof->rows[roof->n++] = *row;
    return STRETTO_OK;
}

static roof_row row_of(const char *kind, const char *name, const st_unit *unit) {
    roof_row row = {.kind = kind};
    st_unit_info info;
    st_unit_info_get(unit, &info);
    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(row.unit, sizeof row.unit, "%s", info.name);
    row.threads = info.n_threads;
    return row;
}

/* ---- peaks and kernels ---- */

static int add_peak(roofline *roof, const st_unit *unit, const char *name, const char *per, st_peak peak,
                    stretto_error *err) {
    roof_row row = row_of("peak", name, unit);
    row.rate = peak.best;
    row.per = per;
    return add_row(roof, &row, err);
}

static int add_peaks(roofline *roof, const st_unit *unit, const st_peaks *peaks, stretto_error *err) {
    int rc = add_peak(roof, unit, READ_PEAK, PER_BYTE, peaks->read, err);
    for (int what = 0; what < ST_BURNS && !rc; what++)
        rc = add_peak(roof, unit, burn_names[what], PER_OPERATION, peaks->burn[what], err);
    return rc;
}

/* What kernels are compared with, in turns. */
typedef struct plain_steps {
    const st_peaks *peaks;
    const st_step *read;
    st_control *burn[ST_BURNS]; /* owned */
} plain_steps;

static void free_plain(plain_steps *plain) {
    for (int what = 0; what < ST_BURNS; what++) st_control_free(plain->burn[what]);
}

static int open_plain(plain_steps *plain, const st_kern *kern, const st_peaks *peaks, const st_control *read,
                      stretto_error *err) {
    *plain = (plain_steps){.peaks = peaks, .read = st_control_step(read)};
    int rc = STRETTO_OK;
    for (int what = 0; what < ST_BURNS && !rc; what++)
        rc = st_control_compute(&plain->burn[what], kern, (enum st_burn)what,
                                st_peaks_operations(peaks, (enum st_burn)what, BURN_TURN_NS), err);
    if (rc) free_plain(plain);
    return rc;
}

/* A row of something that was timed in turns with a plain step: `work` is what a run did, `plain_work` what one of the
 * plain step did, in the same; `peak` is what that gives at most. */
static int add_turns(roofline *roof, roof_row *row, const char *per, const st_timing *time, const st_turns *turns,
                     uint64_t work, uint64_t plain_work, st_peak peak, stretto_error *err) {
    row->plain_peak = peak.best;
    row->ns = time->median_ns;
    row->per = per;
    row->rate = (double)work / row->ns;
    row->share = turns->ratio * (double)work / (double)plain_work;
    row->plain_rate = (double)plain_work / turns->plain_ns;
    return add_row(roof, row, err);
}

static int time_kernel(roofline *roof, st_kernels *kernels, st_unit *unit, const plain_steps *plain,
                       const st_kern_format *format, uint32_t tokens, stretto_error *err) {
    const enum st_burn burn = format->quantized ? ST_BURN_DOTS : ST_BURN_F32;
    const st_step *against = tokens == 1 ? plain->read : st_control_step(plain->burn[burn]);
    st_kernel_time time;
    int rc = st_kernels_time(kernels, unit, format->type, tokens, against, &time, err);
    if (rc) return rc;
    char name[64];
    snprintf(name, sizeof name, "%s %s", tokens == 1 ? "matrix-vector" : "matrix-matrix",
             st_type_find(format->type)->name);
    roof_row row = row_of("kernel", name, unit);
    return tokens == 1 ? add_turns(roof, &row, PER_BYTE, &time.time, &time.turns, time.bytes, against->bytes,
                                   plain->peaks->read, err)
                       : add_turns(roof, &row, PER_OPERATION, &time.time, &time.turns, time.operations,
                                   against->operations, plain->peaks->burn[burn], err);
}

static void note_types(bool *used, const st_model *model) {
    for (uint32_t i = 0; i < model->n_layers; i++)
        for (uint32_t m = 0; m < ST_LAYER_MATRICES; m++) {
            const st_matrix *matrix = st_layer_matrix(&model->layers[i], m);
            if (matrix->rows > 0) used[matrix->format->type] = true;
        }
    used[model->head.format->type] = true;
}

static int add_kernels(roofline *roof, cli *cx, st_unit *unit, const plain_steps *plain, const st_kern *kern,
                       const st_model *model, stretto_error *err) {
    bool used[ST_TYPE_COUNT] = {0};
    st_kernels *kernels;
    int rc = st_kernels_open(&kernels, kern, roof->memory_bytes, err);
    if (rc) return rc;
    if (model) note_types(used, model);
    for (uint32_t type = 0; type < ST_TYPE_COUNT && !rc; type++) {
        if (!kern->formats[type] || (model && !used[type])) continue;
        for (uint32_t tokens = 1; tokens <= ST_PANEL && !rc; tokens += ST_PANEL - 1) {
            if (cli_stopped(cx)) rc = st_fail(err, STRETTO_E_STOPPED, "interrupted while kernels were measured");
            cli_progress(cx, "kernels of %s", st_type_find(type)->name);
            if (!rc) rc = time_kernel(roof, kernels, unit, plain, kern->formats[type], tokens, err);
        }
    }
    cli_progress_end(cx);
    st_kernels_close(kernels);
    return rc;
}

static int add_lane(roofline *roof, cli *cx, const cli_lanes *lanes, unsigned i, const st_kern *kern,
                    const st_model *model, stretto_error *err) {
    st_peaks *peaks = &roof->peaks[i];
    plain_steps plain;
    cli_progress(cx, "peaks of %s", lanes->names[i]);
    int rc = st_peaks_measure(peaks, lanes->units[i], kern, roof->memory_bytes, err);
    if (!rc) rc = add_peaks(roof, lanes->units[i], peaks, err);
    if (!rc)
        rc = st_control_stream(&roof->reads[i], kern, peaks->order, roof->memory_bytes / READ_PIECES,
                               roof->memory_bytes, err);
    if (!rc) rc = open_plain(&plain, kern, peaks, roof->reads[i], err);
    if (rc) return rc;
    rc = add_kernels(roof, cx, lanes->units[i], &plain, kern, model, err);
    free_plain(&plain);
    return rc;
}

int roofline_lanes(roofline *roof, cli *cx, const cli_lanes *lanes, const st_kern *kern, const st_model *model,
                   stretto_error *err) {
    int rc = STRETTO_OK;
    roof->memory_bytes = st_control_memory(&lanes->host);
    free_reads(roof);
    for (unsigned i = 0; i < lanes->n && !rc; i++) {
        rc = add_lane(roof, cx, lanes, i, kern, model, err);
        for (unsigned j = 0; j < lanes->n; j++) st_unit_quiet(lanes->units[j]);
    }
    return rc;
}

/* ---- a model's parts, chunks and tests ---- */

static unsigned lane_of(const session *s, const st_unit *unit) {
    unsigned lane = 0;
    while (lane + 1 < s->lanes.n && s->lanes.units[lane] != unit) lane++;
    return lane;
}

static const st_peaks *peaks_of(const roofline *roof, const session *s, const st_unit *unit) {
    return &roof->peaks[lane_of(s, unit)];
}

static int add_read(roofline *roof, roof_row *row, double ns, uint64_t bytes, double share, stretto_error *err) {
    row->ns = ns;
    row->per = PER_BYTE;
    row->rate = (double)bytes / ns;
    row->share = share;
    return add_row(roof, row, err);
}

int roofline_parts(roofline *roof, const session *s, stretto_error *err) {
    st_unit *unit = s->unit_of[0];
    const st_step *read = st_control_step(roof->reads[lane_of(s, unit)]);
    for (int part = 0; part < ST_PARTS; part++) {
        st_part_time time;
        int rc = st_part_measure(&time, s->model, (enum st_part)part, unit, read, err);
        if (rc) return rc;
        if (time.bytes == 0) continue;
        roof_row row = row_of("part", st_part_name((enum st_part)part), unit);
        rc = add_turns(roof, &row, PER_BYTE, &time.time, &time.turns, time.bytes, read->bytes,
                       peaks_of(roof, s, unit)->read, err);
        if (rc) return rc;
    }
    return STRETTO_OK;
}

/* All chunks on one unit, or NULL. */
static st_unit *only_unit(const session *s) {
    for (uint32_t i = 1; i < s->n_chunks; i++)
        if (s->unit_of[i] != s->unit_of[0]) return NULL;
    return s->unit_of[0];
}

int roofline_read(const roofline *roof, const session *s, double *rate, stretto_error *err) {
    st_unit *unit = only_unit(s);
    *rate = 0;
    if (!unit) return STRETTO_OK;
    const st_step *step = st_control_step(roof->reads[lane_of(s, unit)]);
    st_timing time;
    int rc = st_step_time(&time, unit, step, 1, READ_TURN_NS, err);
    if (!rc) *rate = (double)step->bytes / time.mean_ns;
    return rc;
}

/* Weights and KV that a token in the middle of a decode test reads in a chunk. */
static uint64_t token_bytes(const session *s, const st_chunk *chunk, const bench_test *test) {
    return chunk->bytes + st_kv_read_bytes(s->model, chunk->span, session_kv_type(s), test->depth + test->tokens / 2);
}

/* As the whole test's, by how fast the chunk is against it; where chunks are on several units, of its own unit's
 * peak. */
static double chunk_share(const roofline *roof, const session *s, uint32_t chunk, double rate, const roof_row *whole) {
    if (whole->share > 0) return whole->share * rate / whole->rate;
    return rate / peaks_of(roof, s, s->unit_of[chunk])->read.best;
}

static int add_chunks(roofline *roof, const session *s, const bench_test *test, const roof_row *whole,
                      stretto_error *err) {
    for (uint32_t i = 0; i < test->n_chunks; i++) {
        const st_chunk *chunk = st_chain_chunk(s->chain, i);
        char name[80], layers[24];
        cli_span_text(layers, sizeof layers, &chunk->span, chunk->head);
        snprintf(name, sizeof name, "%.*s, chunk %u (%s)", ST_CUT(test->name, 24), i + 1, layers);
        roof_row row = row_of("chunk", name, s->unit_of[i]);
        double ns = bench_chunk_ns(test, i);
        uint64_t bytes = token_bytes(s, chunk, test);
        int rc = add_read(roof, &row, ns, bytes, chunk_share(roof, s, i, (double)bytes / ns, whole), err);
        if (rc) return rc;
    }
    return STRETTO_OK;
}

static int add_decode(roofline *roof, const session *s, const bench_test *test, roof_row *row, stretto_error *err) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < s->n_chunks; i++) bytes += token_bytes(s, st_chain_chunk(s->chain, i), test);
    const st_unit *unit = only_unit(s);
    row->plain_rate = bench_plain_read(test);
    row->plain_peak = unit ? peaks_of(roof, s, unit)->read.best : 0;
    int rc = add_read(roof, row, bench_token_ns(test), bytes, bench_read_share(test, bytes), err);
    return rc ? rc : add_chunks(roof, s, test, row, err);
}

static int add_prompt(roofline *roof, const session *s, const st_unit *unit, roof_row *row, stretto_error *err) {
    uint64_t operations = 0;
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        const st_chunk *chunk = st_chain_chunk(s->chain, i);
        operations += chunk->operations - (chunk->head ? st_head_operations(s->model) : 0);
    }
    row->per = PER_OPERATION;
    row->rate = (double)operations / row->ns;
    row->share = unit ? row->rate / peaks_of(roof, s, unit)->burn[ST_BURN_DOTS].best : 0;
    return add_row(roof, row, err);
}

int roofline_test(roofline *roof, const session *s, const bench_test *test, stretto_error *err) {
    const st_unit *unit = only_unit(s);
    roof_row row = {.kind = "test", .threads = test->threads};
    if (unit) row = row_of("test", "", unit);
    row.ns = bench_token_ns(test);
    snprintf(row.name, sizeof row.name, "%s", test->name);
    return test->decode ? add_decode(roof, s, test, &row, err) : add_prompt(roof, s, unit, &row, err);
}

static bool scales(const roof_row *row) {
    return strcmp(row->kind, "peak") == 0 || strcmp(row->kind, "test") == 0;
}

static int add_scaling(roofline *roof, const roof_row *more, uint32_t few_threads, const char *what, double times,
                       stretto_error *err) {
    roof_row row = {.kind = "scaling", .threads = more->threads, .per = "times", .rate = times};
    snprintf(row.name, sizeof row.name, "%s%.*s, over %u thread%s", what, ST_CUT(more->name, 34), few_threads,
             few_threads == 1 ? "" : "s");
    return add_row(roof, &row, err);
}

/* The first row before the i-th that is the same of another number of threads; NULL: none, or the row is of another
 * unit of the same size. */
static const roof_row *fewer_threads(const roofline *roof, size_t i) {
    const roof_row *more = &roof->rows[i];
    for (size_t j = 0; j < i && scales(more); j++) {
        const roof_row *few = &roof->rows[j];
        if (strcmp(few->kind, more->kind) == 0 && strcmp(few->name, more->name) == 0)
            return few->threads == more->threads ? NULL : few;
    }
    return NULL;
}

int roofline_scaling(roofline *roof, stretto_error *err) {
    size_t n = roof->n;
    int rc = STRETTO_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        const roof_row more = roof->rows[i], *found = fewer_threads(roof, i);
        if (!found) continue;
        const roof_row few = *found;
        rc = add_scaling(roof, &more, few.threads, "", more.rate / few.rate, err);
        if (!rc && more.plain_rate > 0 && few.plain_rate > 0)
            rc = add_scaling(roof, &more, few.threads, "read with ", more.plain_rate / few.plain_rate, err);
    }
    return rc;
}

/* ---- output ---- */

static void show_csv(cli *cx, const roof_row *r) {
    cli_printf(cx, "%s,\"%s\",%s,%u,%.6g,%.6g,%s,%.4g\n", r->kind, r->name, r->unit, r->threads, r->ns, r->rate, r->per,
               r->share);
}

static void show_md(cli *cx, const roof_row *r) {
    st_figure ms, rate;
    cli_printf(cx, "| %s | %s | %u | %s | %s %s | ", r->kind, r->name, r->threads,
               r->ns > 0 ? st_figure_ms(ms, r->ns) : "", st_figure_of(rate, r->rate), r->per);
    if (r->share > 0) cli_printf(cx, "%.0f %%", 100 * r->share);
    cli_printf(cx, " |\n");
}

static void show_text(cli *cx, const roof_row *r) {
    st_figure ms, rate;
    cli_printf(cx, "  %-7s %-34s %3u %8s %8s ", r->kind, r->name, r->threads, r->ns > 0 ? st_figure_ms(ms, r->ns) : "",
               st_figure_of(rate, r->rate));
    if (r->share > 0)
        cli_printf(cx, "%-8s%3.0f %%\n", r->per, 100 * r->share);
    else
        cli_printf(cx, "%s\n", r->per);
}

static void show_head(cli *cx, const char *format) {
    if (strcmp(format, "csv") == 0) cli_printf(cx, "kind,name,unit,threads,ns,rate,per,share\n");
    if (strcmp(format, "md") == 0) {
        cli_printf(cx, "| kind | what | threads | ms | rate | of the peak |\n");
        cli_printf(cx, "| --- | --- | ---: | ---: | ---: | ---: |\n");
    }
    if (strcmp(format, "text") == 0)
        cli_printf(cx, "\n  kind    what                         threads       ms     rate   share of peak\n");
}

void roofline_show(roofline *roof, cli *cx, const char *format) {
    if (roof->shown == 0 && roof->n > 0) show_head(cx, format);
    for (; roof->shown < roof->n; roof->shown++) {
        const roof_row *row = &roof->rows[roof->shown];
        if (strcmp(format, "csv") == 0) show_csv(cx, row);
        if (strcmp(format, "md") == 0) show_md(cx, row);
        if (strcmp(format, "text") == 0) show_text(cx, row);
    }
}

json_t *roofline_json(const roofline *roof) {
    json_t *rows = json_array();
    for (size_t i = 0; i < roof->n; i++) {
        const roof_row *r = &roof->rows[i];
        st_json_append(&rows, json_pack("{s:s, s:s, s:s, s:i, s:f, s:f, s:s, s:f, s:f}", "kind", r->kind, "name",
                                        r->name, "unit", r->unit, "threads", (int)r->threads, "ns", r->ns, "rate",
                                        r->rate, "per", r->per, "share", r->share, "plain_rate", r->plain_rate));
    }
    return json_pack("{s:I, s:o}", "memory_bytes", (json_int_t)roof->memory_bytes, "rows", rows);
}
