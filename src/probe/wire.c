/* SPDX-License-Identifier: MIT */
#include "probe/wire.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ROWS_MOST 1000000u /* more than anybody asks for: a damaged number */
#define ROUNDS_MOST 10000000u

/* What both sides must agree on, and how much follows. */
typedef struct wire_head {
    char magic[8];
    uint64_t record_bytes, row_bytes, round_bytes, unit_pair_bytes, peaks_bytes, cost_bytes;
    uint64_t warnings;
} wire_head;

static const wire_head own_head = {.magic = "stprobe",
                                   .record_bytes = sizeof(st_probe_record),
                                   .row_bytes = sizeof(st_probe_row),
                                   .round_bytes = sizeof(st_round),
                                   .unit_pair_bytes = sizeof(st_unit_pair),
                                   .peaks_bytes = sizeof(st_unit_peaks),
                                   .cost_bytes = sizeof(st_solo_cost)};

/* ---- bytes ---- */

static int write_all(int fd, const void *data, size_t n, stretto_error *err) {
    if (st_file_write(fd, data, n)) return STRETTO_OK;
    return st_fail(err, STRETTO_E_IO, "the record could not be handed over: %s", strerror(errno));
}

static int read_all(int fd, void *data, size_t n, stretto_error *err) {
    char *at = data;
    while (n > 0) {
        ssize_t done = read(fd, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return st_fail(err, STRETTO_E_IO, "the record could not be read: %s", strerror(errno));
        if (done == 0) return st_fail(err, STRETTO_E_IO, "the record ends %zu bytes early", n);
        at += done;
        n -= (size_t)done;
    }
    return STRETTO_OK;
}

/* Memory for n items of `size` bytes each, filled from fd; *out is NULL when there are none, or when it fails before
 * any is read. */
static int read_list(int fd, void *out, size_t n, size_t size, size_t most, stretto_error *err) {
    void *data = NULL;
    memcpy(out, &data, sizeof data);
    if (n > most) return st_fail(err, STRETTO_E_INPUT, "a record of %zu items, at most %zu were expected", n, most);
    if (n > 0) {
        data = st_alloc(n, size);
        if (!data) return st_fail_memory(err, "a record", n * size);
    }
    memcpy(out, &data, sizeof data);
    return n > 0 ? read_all(fd, data, n * size, err) : STRETTO_OK;
}

/* ---- records ---- */

int st_record_send(int fd, const st_probe_record *record, stretto_error *err) {
    wire_head head = own_head;
    head.warnings = record->warnings.data ? record->warnings.len : 0;
    int code = write_all(fd, &head, sizeof head, err);
    if (code == STRETTO_OK) code = write_all(fd, record, sizeof *record, err);
    if (code == STRETTO_OK && head.warnings) code = write_all(fd, record->warnings.data, head.warnings, err);
    size_t pairs = record->n_unit_pairs * sizeof *record->unit_pairs, peaks = record->n_peaks * sizeof *record->peaks;
    if (code == STRETTO_OK && pairs) code = write_all(fd, record->unit_pairs, pairs, err);
    size_t costs = record->n_costs * sizeof *record->costs;
    if (code == STRETTO_OK && peaks) code = write_all(fd, record->peaks, peaks, err);
    if (code == STRETTO_OK && costs) code = write_all(fd, record->costs, costs, err);
    const st_arrangement *table = st_arrangements(&(size_t){0});
    for (size_t i = 0; i < record->n_rows && code == STRETTO_OK; i++) {
        const st_probe_row *row = &record->rows[i];
        uint64_t arrangement = (uint64_t)(row->arrangement - table);
        code = write_all(fd, &arrangement, sizeof arrangement, err);
        if (code == STRETTO_OK) code = write_all(fd, row, sizeof *row, err);
        if (code == STRETTO_OK && row->n_rounds)
            code = write_all(fd, row->rounds, row->n_rounds * sizeof *row->rounds, err);
    }
    return code;
}

static int read_row(int fd, st_probe_row *row, stretto_error *err) {
    uint64_t arrangement;
    size_t n_arrangements;
    const st_arrangement *table = st_arrangements(&n_arrangements);
    int code = read_all(fd, &arrangement, sizeof arrangement, err);
    if (code == STRETTO_OK) code = read_all(fd, row, sizeof *row, err);
    row->rounds = NULL; /* the other process's */
    row->cap = 0;
    if (code != STRETTO_OK) return code;
    if (arrangement >= n_arrangements)
        return st_fail(err, STRETTO_E_INPUT, "a record with arrangement %llu of %zu", (unsigned long long)arrangement,
                       n_arrangements);
    row->arrangement = &table[arrangement];
    code = read_list(fd, &row->rounds, row->n_rounds, sizeof *row->rounds, ROUNDS_MOST, err);
    if (code == STRETTO_OK) row->cap = row->n_rounds;
    return code;
}

static int read_rows(int fd, st_probe_record *record, size_t n, stretto_error *err) {
    if (n > ROWS_MOST) return st_fail(err, STRETTO_E_INPUT, "a record of %zu rows", n);
    record->rows = n ? st_alloc(n, sizeof *record->rows) : NULL;
    if (n && !record->rows) return st_fail_memory(err, "a record", n * sizeof *record->rows);
    int code = STRETTO_OK;
    for (size_t i = 0; i < n && code == STRETTO_OK; i++) {
        code = read_row(fd, &record->rows[i], err);
        if (code == STRETTO_OK)
            record->n_rows = i + 1;
        else
            st_free(record->rows[i].rounds);
    }
    return code;
}

static int read_warnings(int fd, st_buf *warnings, uint64_t n, stretto_error *err) {
    char *text;
    int code = read_list(fd, &text, n, 1, 1u << 20, err);
    if (code == STRETTO_OK && n) st_buf_add(warnings, text, n);
    st_free(text);
    return code;
}

int st_record_receive(int fd, st_probe_record *record, stretto_error *err) {
    wire_head head;
    st_probe_record theirs;
    *record = (st_probe_record){0};
    int code = read_all(fd, &head, sizeof head, err);
    if (code != STRETTO_OK) return code;
    uint64_t warnings = head.warnings;
    head.warnings = 0;
    if (memcmp(&head, &own_head, sizeof head) != 0)
        return st_fail(err, STRETTO_E_INPUT, "a record from another build of this program");
    code = read_all(fd, &theirs, sizeof theirs, err);
    if (code != STRETTO_OK) return code;
    *record = theirs;
    record->warnings = (st_buf){0};
    record->rows = NULL;
    record->unit_pairs = NULL;
    record->peaks = NULL;
    record->costs = NULL;
    record->n_rows = 0;
    code = read_warnings(fd, &record->warnings, warnings, err);
    if (code == STRETTO_OK)
        code = read_list(fd, &record->unit_pairs, theirs.n_unit_pairs, sizeof *record->unit_pairs, ROWS_MOST, err);
    if (code == STRETTO_OK) code = read_list(fd, &record->peaks, theirs.n_peaks, sizeof *record->peaks, ROWS_MOST, err);
    if (code == STRETTO_OK) code = read_list(fd, &record->costs, theirs.n_costs, sizeof *record->costs, ROWS_MOST, err);
    return code == STRETTO_OK ? read_rows(fd, record, theirs.n_rows, err) : code;
}
