/* SPDX-License-Identifier: MIT
 * CSV as in RFC 4180, but for line ends: LF. */
#include "report/probe_report.h"

#include <inttypes.h>
#include <string.h>

static void field(st_buf *out, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        st_buf_text(out, text);
        return;
    }
    st_buf_text(out, "\"");
    for (; *text; text++) {
        if (*text == '"') st_buf_text(out, "\"");
        st_buf_add(out, text, 1);
    }
    st_buf_text(out, "\"");
}

static void line(st_buf *out, const st_probe_row *row, size_t round_index, unsigned position) {
    const st_round *round = &row->rounds[round_index];
    enum st_arm arm = round->order[position];
    const st_sample *s = &round->arms[arm];
    field(out, row->name[0]);
    st_buf_text(out, ",");
    field(out, row->name[1]);
    st_buf_printf(out, ",%s,", row->arrangement->name);
    field(out, row->unit[0]);
    st_buf_text(out, ",");
    field(out, row->unit[1]);
    st_buf_printf(out, ",%zu,%u,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%d,%u\n",
                  round_index, position, st_arm_name(arm), s->wall_ns, s->start_ns[0], s->end_ns[0], s->start_ns[1],
                  s->end_ns[1], s->skew_ns, (round->outliers >> arm & 1) != 0,
                  arm == ST_ARM_PARALLEL && (round->flags & ST_ROUND_SKEW) != 0, round->process);
}

void st_probe_csv(st_buf *out, const st_probe_record *record) {
    st_buf_text(out, "a,b,arrangement,unit_a,unit_b,round,position,arm,wall_ns,a_start_ns,a_end_ns,b_start_ns,b_end_ns,"
                     "skew_ns,outlier,skewed,process\n");
    for (size_t i = 0; i < record->n_rows; i++)
        for (size_t round = 0; round < record->rows[i].n_rounds; round++)
            for (unsigned position = 0; position < record->rows[i].n_arms; position++)
                line(out, &record->rows[i], round, position);
}
