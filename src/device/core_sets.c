/* SPDX-License-Identifier: MIT
 * The notation for cpu units: "cpu:0,cpu:1-3,cpu:4+6". */
#include "base/error.h"
#include "base/mem.h"
#include "device/cpu.h"

#include <ctype.h>
#include <string.h>

/* What is being read: one set, which is text[0..len). */
typedef struct set_text {
    const char *text;
    int len;
    const st_host *host;
    stretto_error *err;
} set_text;

static int set_refuse(const set_text *set, const char *why) {
    return st_fail(set->err, STRETTO_E_USAGE,
                   "unit \"%.*s\": %s; expected cpu:N, cpu:A-B or cpu:N+M with cores from 0 to %u (%u allowed here)",
                   set->len, set->text, why, set->host->n_cores - 1, set->host->n_cores);
}

/* Reads a core's number at *at, before `end`. */
static int read_core(const set_text *set, const char **at, const char *end, unsigned *core) {
    if (*at == end || !isdigit((unsigned char)**at)) return set_refuse(set, "a core's number is missing");
    unsigned n = 0;
    for (; *at < end && isdigit((unsigned char)**at); (*at)++)
        if (n < ST_HOST_MAX_CORES) n = n * 10 + (unsigned)(**at - '0');
    if (n >= set->host->n_cores) return set_refuse(set, "no such core");
    *core = n;
    return STRETTO_OK;
}

/* Marks the cores of one set in used[n_cores]. *again: a core stands in it more than once. */
static int read_set(const set_text *set, bool *used, bool *again) {
    const char *at = set->text, *end = set->text + set->len;
    if (set->len == 0) return set_refuse(set, "nothing between the commas");
    if (set->len < 4 || memcmp(at, "cpu:", 4) != 0) return set_refuse(set, "not a cpu unit");
    for (at += 4;; at++) {
        unsigned first, last;
        int code = read_core(set, &at, end, &first);
        if (code != STRETTO_OK) return code;
        last = first;
        if (at < end && *at == '-') {
            at++;
            code = read_core(set, &at, end, &last);
            if (code != STRETTO_OK) return code;
        }
        if (last < first) return set_refuse(set, "a range goes from the lower core to the higher");
        for (unsigned core = first; core <= last; core++) {
            *again |= used[core];
            used[core] = true;
        }
        if (at == end) return STRETTO_OK;
        if (*at != '+') return set_refuse(set, "something follows the cores that does not belong there");
    }
}

static int set_store(st_core_set *out, const bool *used, unsigned n_cores, stretto_error *err) {
    out->cores = st_alloc(n_cores, sizeof *out->cores);
    if (!out->cores) return st_fail_memory(err, "a core set", n_cores * sizeof *out->cores);
    for (unsigned core = 0; core < n_cores; core++)
        if (used[core]) out->cores[out->n++] = core;
    return STRETTO_OK;
}

static void warn_shared(const st_core_set *a, const st_core_set *b, unsigned ia, unsigned ib, const st_log *log) {
    for (unsigned i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->cores[i] == b->cores[j]) {
            st_warn(log, "units %u and %u share core %u: they will take turns on it", ia + 1, ib + 1, a->cores[i]);
            return;
        }
        if (a->cores[i] < b->cores[j])
            i++;
        else
            j++;
    }
}

static void warn_sets(const st_core_set *sets, unsigned n, const st_host *host, const st_log *log) {
    unsigned total = 0;
    for (unsigned b = 0; b < n; b++) {
        total += sets[b].n;
        for (unsigned a = 0; a < b; a++) warn_shared(&sets[a], &sets[b], a, b, log);
    }
    if (n > 1 && total > host->max_threads && host->max_threads < host->n_cores)
        st_warn(log, "the units have %u cores together, but the cgroup quota allows %.3g: they cannot all run at once",
                total, host->quota_cpus);
}

int st_core_sets_parse(st_core_set **out, unsigned *n_sets, const char *text, const st_host *host, const st_log *log,
                       stretto_error *err) {
    *out = NULL;
    *n_sets = 0;
    unsigned n = 1, done = 0;
    for (const char *c = text; *c; c++) n += *c == ',';
    st_core_set *sets = st_alloc(n, sizeof *sets);
    bool *used = st_alloc(host->n_cores, sizeof *used);
    int code = sets && used ? STRETTO_OK : st_fail_memory(err, "the core sets", n * sizeof *sets + host->n_cores);
    while (code == STRETTO_OK && done < n) {
        const set_text set = {.text = text, .len = (int)strcspn(text, ","), .host = host, .err = err};
        bool again = false;
        memset(used, 0, host->n_cores * sizeof *used);
        code = read_set(&set, used, &again);
        if (code == STRETTO_OK) code = set_store(&sets[done++], used, host->n_cores, err);
        if (again) st_warn(log, "a core stands more than once in unit \"%.*s\"", set.len, set.text);
        text += set.len + 1;
    }
    st_free(used);
    if (code != STRETTO_OK) {
        st_core_sets_free(sets, sets ? done : 0);
        return code;
    }
    warn_sets(sets, n, host, log);
    *out = sets;
    *n_sets = n;
    return STRETTO_OK;
}

void st_core_sets_free(st_core_set *sets, unsigned n_sets) {
    for (unsigned i = 0; i < n_sets; i++) st_free(sets[i].cores);
    st_free(sets);
}
