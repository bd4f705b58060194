/* SPDX-License-Identifier: MIT
 * What every report's page has in common: one page that needs nothing else, no other file, no network, and scripts only
 * to save the data. The policy in its head forbids everything else, so that even a name that slipped through could load
 * and run nothing. Each function appends to out; what did not fit into memory sets out->failed. */
#ifndef ST_REPORT_PAGE_H
#define ST_REPORT_PAGE_H

#include "base/buf.h"
#include "report/origin.h"

#include <jansson.h>

/* Nothing is owned. */
typedef struct st_page {
    const char *kind;        /* of report: "Overlap probe" */
    const char *title;       /* of what it is about; "": none */
    const char *task;        /* one more line below the title; NULL: none */
    const char *file;        /* under which name the data is saved: "probe.json" */
    const char *data;        /* what the data is: "all samples" */
    double others;           /* CPUs that other programs used (st_text_host) */
    const st_buf *warnings;  /* a line each; NULL: none */
    const st_origin *origin; /* NULL: unknown */
} st_page;

/* The head, and the header of the body with title, machine and date; <main> is open after it. */
void st_page_begin(st_buf *out, const st_page *page);

/* The warnings, where there are any. */
void st_page_warnings(st_buf *out, const st_page *page);

/* For a list of facts: a term and its text, which it takes. */
void st_page_fact(st_buf *out, const char *term, st_buf *text);
void st_page_machine(st_buf *out, const st_page *page); /* a fact: processor, cores, memory; nothing where unknown */
void st_page_again(st_buf *out, const st_page *page);   /* the command that makes this page once more */

/* Everything after the last section: the data, which it takes, to look at and to save. Ends the document. */
void st_page_end(st_buf *out, const st_page *page, json_t *data);

#endif
