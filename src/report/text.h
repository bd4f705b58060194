/* SPDX-License-Identifier: MIT
 * Numbers and paragraphs as people read them. */
#ifndef ST_REPORT_TEXT_H
#define ST_REPORT_TEXT_H

#include "base/buf.h"
#include "base/host.h"

#include <stdbool.h>
#include <stddef.h>

/* Three significant figures without an exponent: 0.924, 1.81, 41.0, 123, 1230. Written to out, returned. */
typedef char st_figure[24];
const char *st_figure_of(st_figure out, double value);
const char *st_figure_ms(st_figure out, double ns); /* the same of nanoseconds, in milliseconds */

/* For two decimals: what would read -0.00 is 0. */
double st_hundredths(double value);

/* A ratio in few columns: two decimals, from 10 on one, from 100 on none. */
const char *st_figure_ratio(st_figure out, double value);

/* Appends text, broken at spaces so that no line is longer than `width` columns (UTF-8 characters count as one). The
 * first line starts at column `at`, later ones are indented by `indent`. No newline at the end. */
void st_text_wrap(st_buf *out, const char *text, size_t at, size_t indent, size_t width);

/* "2 cores, AVX-512 VNNI, quota 1.5 CPUs; quiet"; others: CPUs that other programs use (base/usage.h), -1: unknown, and
 * not spoken of. */
void st_text_host(st_buf *out, const st_host *host, double others);

/* Columns of the n bytes at text: all but UTF-8 continuation bytes. */
size_t st_text_columns(const char *text, size_t n);

/* Appends text that Markdown shows as it is: what would be markup, a link or a tag of HTML is escaped. */
void st_text_markdown(st_buf *out, const char *text);

/* The same for a cell of a table, which a bar would end. */
void st_text_cell(st_buf *out, const char *text);

/* Appends text as code in a line of Markdown. */
void st_text_code(st_buf *out, const char *text);

/* Appends a command line that a shell reads as argv[argc]. */
void st_text_command(st_buf *out, int argc, char *const *argv);

#endif
