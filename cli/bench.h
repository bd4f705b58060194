/* SPDX-License-Identifier: MIT
 * Rows of stretto bench, and their forms. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "session.h"

#include <jansson.h>

typedef struct bench_test {
    char name[64]; /* "tg128@d1024" */
    bool decode;
    uint32_t tokens, depth, threads;
    uint64_t *samples_ns; /* [repetitions] owned */
    uint64_t *chunks_ns;  /* [repetitions][n_chunks] what each chunk took of them; owned */
    double *reads;        /* [repetitions + 1] GB/s of a plain read before each sample and after the last; 0: not
                             measured; owned */
    uint32_t n_chunks;
    uint32_t n_samples;
} bench_test;

typedef struct bench_list {
    bench_test *tests; /* [n] owned */
    size_t n, cap;
} bench_list;

/* A new row as *like says, with room for its samples, valid until the next call; NULL when memory is out. */
bench_test *bench_add(bench_list *list, const bench_test *like, uint32_t repetitions, stretto_error *err);
void bench_free(bench_list *list);

/* Medians, per token: of a test with at least one sample, and of one of its chunks. */
double bench_token_ns(const bench_test *test);
double bench_chunk_ns(const bench_test *test, uint32_t chunk);
/* Of a test with at least one sample, in which a token moves `bytes`: median over the samples of the bytes a nanosecond
 * over those of the plain reads before and after it; 0 where those were not measured. */
double bench_read_share(const bench_test *test, uint64_t bytes);
/* Median of those plain reads, GB/s; 0 where they were not measured. */
double bench_plain_read(const bench_test *test);

/* Text, md and csv are written a row at a time; json (nothing here) at the end. */
void bench_head(cli *cx, const char *format, const session *s);
void bench_row(cli *cx, const char *format, const bench_test *test);
json_t *bench_json(const bench_list *list, const session *s, uint32_t repetitions);

#endif
