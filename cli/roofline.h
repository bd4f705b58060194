/* SPDX-License-Identifier: MIT
 * What bench --roofline measures beside speed: the peaks of the units, and how near to them kernels, the parts of a
 * model, its chunks and whole tests come. All of it is one list of rows. */
#ifndef CLI_ROOFLINE_H
#define CLI_ROOFLINE_H

#include "bench.h"
#include "device/control.h"

typedef struct roof_row {
    const char *kind; /* "peak", "kernel", "part", "chunk", "test", "scaling" */
    char name[64];
    char unit[48]; /* "cpu:0+1"; "" for several together */
    uint32_t threads;
    double ns;       /* median of one run, of a chunk or test: of a token; 0: none */
    double rate;     /* best of the runs for peaks, else the median */
    const char *per; /* "GB/s", "macs/ns", "times" */
    double share;    /* of what a plain read gives in turns with a kernel, a part or a decode test, of plain arithmetic
                        in turns with a kernel, else of the unit's peak in the same; 0: there is none to compare with */
    double plain_rate; /* median of the plain step in turns with a kernel, a part or a decode test; 0: none */
    double plain_peak; /* what that step gives at most */
} roof_row;

typedef struct roofline {
    roof_row *rows; /* [n] owned */
    size_t n, cap, shown;
    st_peaks peaks[CLI_LANES_MAX];    /* of the lanes of the moment */
    st_control *reads[CLI_LANES_MAX]; /* a plain read on each; owned */
    uint64_t memory_bytes;            /* that streams go through */
} roofline;

void roofline_free(roofline *roof);

/* Peaks of each lane, and the kernels in turns with a plain read and plain arithmetic: those of all types, or with a
 * model of those that it has. */
int roofline_lanes(roofline *roof, cli *cx, const cli_lanes *lanes, const st_kern *kern, const st_model *model,
                   stretto_error *err);
/* The parts of a decode step on the unit of the first chunk. */
int roofline_parts(roofline *roof, const session *s, stretto_error *err);
/* GB/s that a plain read on the unit of all chunks gives just now; 0 where there is no such unit. */
int roofline_read(const roofline *roof, const session *s, double *rate, stretto_error *err);
/* Rows of a finished test and, for decode, of its chunks. */
int roofline_test(roofline *roof, const session *s, const bench_test *test, stretto_error *err);
/* How many times as fast each peak and test is on more threads than on those it was measured with first, and the plain
 * reads in turns with a decode test: what memory allowed it to gain. */
int roofline_scaling(roofline *roof, stretto_error *err);

/* How many of the rows that stand in turns with a plain step (of which there are *compared) say little, since that gave
 * less than half of the peak: something else took the cores. */
size_t roofline_disturbed(const roofline *roof, size_t *compared);
void roofline_warn(const roofline *roof, const st_log *log); /* of such rows, once for all */

/* Writes what has not been written yet; json (nothing here) at the end. */
void roofline_show(roofline *roof, cli *cx, const char *format);
json_t *roofline_json(const roofline *roof);

#endif
