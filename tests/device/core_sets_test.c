/* SPDX-License-Identifier: MIT */
#include "device/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/lanes.h"

typedef struct heard {
    char text[1024];
    unsigned n;
} heard;

static void hear(void *arg, enum st_log_level level, const char *text) {
    heard *h = arg;
    assert_int_equal(level, ST_LOG_WARN);
    snprintf(h->text, sizeof h->text, "%s", text);
    h->n++;
}

/* Sets written back as "0;1,2,3" and the number of warnings. */
static void reads(const lanes_host *fake, const char *text, const char *want, unsigned warnings) {
    heard h = {.n = 0};
    const st_log log = {.fn = hear, .arg = &h};
    st_core_set *sets;
    unsigned n;
    stretto_error err = {0};
    int code = st_core_sets_parse(&sets, &n, text, &fake->host, &log, &err);
    if (code != 0) fail_msg("%s: %s", text, err.text);
    char got[256] = "";
    for (unsigned s = 0; s < n; s++)
        for (unsigned i = 0; i < sets[s].n; i++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%u", i ? "," : s ? ";" : "", sets[s].cores[i]);
    assert_string_equal(got, want);
    assert_int_equal(h.n, warnings);
    st_core_sets_free(sets, n);
}

static void reads_the_notation(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 8);
    reads(&fake, "cpu:0", "0", 0);
    reads(&fake, "cpu:0,cpu:1", "0;1", 0);
    reads(&fake, "cpu:0-3", "0,1,2,3", 0);
    reads(&fake, "cpu:2+0", "0,2", 0);
    reads(&fake, "cpu:0,cpu:1-3,cpu:4+6", "0;1,2,3;4,6", 0);
    reads(&fake, "cpu:7+1-3+5-5", "1,2,3,5,7", 0);
    reads(&fake, "cpu:007", "7", 0);
}

static void warns_of_what_is_odd(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 8);
    reads(&fake, "cpu:0-2+1", "0,1,2", 1);
    reads(&fake, "cpu:0+1,cpu:1+2", "0,1;1,2", 1);
    reads(&fake, "cpu:3,cpu:3,cpu:3", "3;3;3", 3);
    fake.host.max_threads = 1;
    fake.host.quota_cpus = 0.5;
    reads(&fake, "cpu:0,cpu:1", "0;1", 1);
    reads(&fake, "cpu:0+1", "0,1", 0); /* the lane itself says so */
}

static void refuses(const lanes_host *fake, const char *text, const char *piece, const char *why) {
    st_core_set *sets = (st_core_set *)&sets;
    unsigned n = 9;
    stretto_error err = {0};
    assert_int_equal(st_core_sets_parse(&sets, &n, text, &fake->host, NULL, &err), STRETTO_E_USAGE);
    assert_null(sets);
    assert_int_equal(n, 0);
    char quoted[64];
    snprintf(quoted, sizeof quoted, "unit \"%s\": ", piece);
    if (!strstr(err.text, quoted) || !strstr(err.text, why) || !strstr(err.text, "(8 allowed here)"))
        fail_msg("%s gave: %s", text, err.text);
}

static void refuses_with_the_part_that_is_wrong(void **state) {
    (void)state;
    lanes_host fake;
    lanes_host_init(&fake, 8);
    refuses(&fake, "", "", "nothing between the commas");
    refuses(&fake, "cpu:0,", "", "nothing between the commas");
    refuses(&fake, "cpu:0,,cpu:1", "", "nothing between the commas");
    refuses(&fake, "cpu:0,1", "1", "not a cpu unit");
    refuses(&fake, "0", "0", "not a cpu unit");
    refuses(&fake, "cpu", "cpu", "not a cpu unit");
    refuses(&fake, "opencl:0", "opencl:0", "not a cpu unit");
    refuses(&fake, " cpu:0", " cpu:0", "not a cpu unit");
    refuses(&fake, "cpu:", "cpu:", "number is missing");
    refuses(&fake, "cpu:+1", "cpu:+1", "number is missing");
    refuses(&fake, "cpu:1+", "cpu:1+", "number is missing");
    refuses(&fake, "cpu:1-", "cpu:1-", "number is missing");
    refuses(&fake, "cpu:-1", "cpu:-1", "number is missing");
    refuses(&fake, "cpu:0,cpu:8", "cpu:8", "no such core");
    refuses(&fake, "cpu:0-8", "cpu:0-8", "no such core");
    refuses(&fake, "cpu:99999999999999999999", "cpu:99999999999999999999", "no such core");
    refuses(&fake, "cpu:4294967296", "cpu:4294967296", "no such core");
    refuses(&fake, "cpu:3-1", "cpu:3-1", "lower core to the higher");
    refuses(&fake, "cpu:0-1-2", "cpu:0-1-2", "does not belong");
    refuses(&fake, "cpu:0 ", "cpu:0 ", "does not belong");
    refuses(&fake, "cpu:0x1", "cpu:0x1", "does not belong");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_notation),
        cmocka_unit_test(warns_of_what_is_odd),
        cmocka_unit_test(refuses_with_the_part_that_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
