/* SPDX-License-Identifier: MIT
 * Whether docs/PROBE-JSON.md describes what is written. */
#ifndef TESTS_REPORT_SCHEMA_H
#define TESTS_REPORT_SCHEMA_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static inline void schema_check_keys(json_t *value, const char *text) {
    const char *key;
    json_t *item;
    size_t i;
    json_object_foreach(value, key, item) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "`%s`", key);
        if (!strstr(text, quoted)) print_error("%s is not described\n", key);
        assert_non_null(strstr(text, quoted));
        schema_check_keys(item, text);
    }
    json_array_foreach(value, i, item) schema_check_keys(item, text);
}

/* Every key that is written stands in the document, as does the schema's name. */
static inline void schema_check(json_t *value, const char *schema) {
    static char text[40000];
    FILE *file = fopen(ST_GOLDEN "/../../docs/PROBE-JSON.md", "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    assert_non_null(strstr(text, schema));
    schema_check_keys(value, text);
}

#endif
