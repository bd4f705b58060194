/* SPDX-License-Identifier: MIT */
#include "report/page.h"

#include "report/html.h"
#include "report/text.h"

#include <string.h>

extern const char st_page_css[], st_page_js[]; /* src/report/assets */

/* Base64 of the SHA-256 of assets/page.js: the only script that may run. tests/cli/page_test.py compares them. */
#define SCRIPT_HASH "ToRIwUUztjklUYGPGtFgPHwVNIh36pKnJWM9cDxCj4A="

static void head(st_buf *out, const st_page *page) {
    st_buf_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" SCRIPT_HASH "'\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<title>");
    st_html_text(out, page->kind);
    if (*page->title) st_buf_text(out, ": ");
    st_html_text(out, page->title);
    st_buf_text(out, "</title>\n<style>\n");
    st_buf_text(out, st_page_css);
    st_buf_text(out, "</style>\n</head>\n<body>\n");
}

static void date(st_buf *out, const st_origin *origin) {
    struct tm utc;
    char text[32];
    if (origin->when && gmtime_r(&origin->when, &utc) && strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc))
        st_buf_printf(out, "<p class=\"meta\">%s</p>\n", text);
}

static size_t count_lines(const st_buf *lines) {
    size_t n = 0;
    for (size_t i = 0; lines && i < lines->len; i++) n += lines->data[i] == '\n';
    return n;
}

static void host(st_buf *out, const st_page *page) {
    st_buf line = {0};
    st_buf_printf(&line, "%s, ", page->origin->host->cpu_model);
    st_text_host(&line, page->origin->host, page->others);
    st_buf_text(out, "<p class=\"meta\">");
    st_html_text(out, line.failed ? "" : line.data);
    st_buf_text(out, "</p>\n");
    out->failed |= line.failed;
    st_buf_free(&line);
}

void st_page_begin(st_buf *out, const st_page *page) {
    head(out, page);
    st_buf_printf(out, "<header>\n<h1>%s</h1>\n", page->kind);
    if (*page->title) {
        st_buf_text(out, "<p class=\"meta\">");
        st_html_name(out, page->title);
        st_buf_text(out, "</p>\n");
    }
    if (page->task) {
        st_buf_text(out, "<p class=\"meta\">");
        st_html_text(out, page->task);
        st_buf_text(out, "</p>\n");
    }
    if (page->origin && page->origin->host) host(out, page);
    if (page->origin) date(out, page->origin);
    size_t n = count_lines(page->warnings);
    if (n) st_buf_printf(out, "<p class=\"meta\"><a href=\"#warnings\">%zu warning%s</a></p>\n", n, n == 1 ? "" : "s");
    st_buf_text(out, "</header>\n<main>\n");
}

void st_page_warnings(st_buf *out, const st_page *page) {
    if (!page->warnings || !page->warnings->data) return;
    st_buf_text(out, "<section class=\"warnings\" id=\"warnings\"><h2>Warnings</h2><ul>\n");
    for (const char *at = page->warnings->data; *at;) {
        size_t n = strcspn(at, "\n");
        st_buf line = {0};
        st_buf_add(&line, at, n);
        st_buf_text(out, "<li>");
        st_html_text(out, line.failed ? "" : line.data);
        st_buf_text(out, "</li>\n");
        out->failed |= line.failed;
        st_buf_free(&line);
        at += n + (at[n] == '\n');
    }
    st_buf_text(out, "</ul></section>\n");
}

void st_page_fact(st_buf *out, const char *term, st_buf *text) {
    st_buf_printf(out, "<dt>%s</dt><dd>", term);
    st_html_text(out, text->data ? text->data : "");
    st_buf_text(out, "</dd>\n");
    out->failed |= text->failed;
    st_buf_free(text);
}

void st_page_machine(st_buf *out, const st_page *page) {
    st_buf text = {0};
    if (!page->origin || !page->origin->host) return;
    const st_host *at = page->origin->host;
    st_buf_printf(&text, "%s, %s, %u cores, %.1f GB, Linux %s", at->cpu_model, at->isa, at->n_cores,
                  (double)at->memory_bytes * 1e-9, at->kernel);
    st_page_fact(out, "machine", &text);
}

void st_page_again(st_buf *out, const st_page *page) {
    st_buf text = {0};
    if (!page->origin || !page->origin->argv) return;
    st_text_command(&text, page->origin->argc, page->origin->argv);
    st_buf_text(out, "<h3>Again</h3>\n<pre><code>");
    st_html_text(out, text.data ? text.data : "");
    st_buf_text(out, "</code></pre>\n");
    out->failed |= text.failed;
    st_buf_free(&text);
}

void st_page_end(st_buf *out, const st_page *page, json_t *data) {
    st_buf_printf(out, "<section class=\"card\">\n<h2>Data</h2>\n<p>This page holds %s as JSON.</p>\n", page->data);
    st_buf_printf(out, "<p><button id=\"save\" type=\"button\" data-file=\"%s\" hidden>Save %s</button></p>\n",
                  page->file, page->file);
    st_buf_text(out, "<noscript><p>Without scripts: it stands in the source of this page, in the element with the id "
                     "<code>data</code>.</p></noscript>\n</section>\n</main>\n<footer>");
    if (page->origin && page->origin->version) st_buf_printf(out, "Made by Stretto %s", page->origin->version);
    st_buf_text(out, "</footer>\n<script type=\"application/json\" id=\"data\">");
    st_html_json(out, data);
    st_buf_text(out, "</script>\n<script>");
    st_buf_text(out, st_page_js);
    st_buf_text(out, "</script>\n</body>\n</html>\n");
}
