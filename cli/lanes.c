/* SPDX-License-Identifier: MIT */
#include "lanes.h"

#include "base/error.h"
#include "base/utf8.h"
#include "number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lanes asked for so far: their core sets and the notation that made them. */
typedef struct wanted {
    cli_lanes *lanes;
    st_core_set *sets[CLI_LANES_MAX]; /* one set each */
    st_buf text;                      /* joined by commas, to be parsed as a whole for its warnings */
} wanted;

static bool same_cores(const st_core_set *a, const st_core_set *b) {
    return a->n == b->n && memcmp(a->cores, b->cores, a->n * sizeof *a->cores) == 0;
}

/* The lane of the core set that n bytes of text name; a new one if need be. */
static int want_lane(wanted *w, const char *text, size_t n, unsigned *lane, stretto_error *err) {
    char spec[512];
    if (n >= sizeof spec) return st_fail(err, STRETTO_E_USAGE, "unit \"%.*s...\" is too long a list", ST_CUT(text, 60));
    snprintf(spec, sizeof spec, "%.*s", (int)n, text);
    st_core_set *set;
    unsigned n_sets;
    int rc = st_core_sets_parse(&set, &n_sets, spec, &w->lanes->host, NULL, err);
    if (rc) return rc;
    for (unsigned i = 0; i < w->lanes->n; i++) {
        if (!same_cores(set, w->sets[i])) continue;
        st_core_sets_free(set, n_sets);
        *lane = i;
        return STRETTO_OK;
    }
    if (w->lanes->n == CLI_LANES_MAX) {
        st_core_sets_free(set, n_sets);
        return st_fail(err, STRETTO_E_USAGE, "more than %d units", CLI_LANES_MAX);
    }
    *lane = w->lanes->n++;
    w->sets[*lane] = set;
    st_buf_printf(&w->text, "%s%s", w->text.len ? "," : "", spec);
    return STRETTO_OK;
}

static int want_units(wanted *w, const char *units, stretto_error *err) {
    while (units) {
        size_t n = strcspn(units, ",");
        unsigned lane;
        int rc = want_lane(w, units, n, &lane, err);
        if (rc) return rc;
        units = units[n] ? units + n + 1 : NULL;
    }
    return STRETTO_OK;
}

static bool read_number(const char **text, uint32_t *value) {
    uint64_t v;
    bool good = cli_number_whole(text, &v) && v <= 100000;
    *value = good ? (uint32_t)v : 0;
    return good;
}

static int refuse_twice(const cli_lanes *lanes, const cli_place *place, stretto_error *err) {
    for (unsigned i = 0; i < lanes->n_places; i++) {
        const cli_place *p = &lanes->places[i];
        uint32_t first = p->first > place->first ? p->first : place->first;
        if (first <= p->last && first <= place->last)
            return st_fail(err, STRETTO_E_USAGE, "--place has chunk %u twice; a chunk runs on one unit", first);
    }
    return STRETTO_OK;
}

/* One item of --place: "3=cpu:1" or "1-2=cpu:0+1". */
static int want_place(wanted *w, const char *item, size_t n, stretto_error *err) {
    cli_place place;
    const char *at = item;
    bool good = read_number(&at, &place.first);
    place.last = place.first;
    if (good && *at == '-') at++, good = read_number(&at, &place.last);
    if (!good || *at != '=' || at >= item + n || place.first == 0 || place.last < place.first) {
        return st_fail(err, STRETTO_E_USAGE, "--place wants CHUNK=UNIT, as in 1=cpu:0,3=cpu:1, not \"%.*s\"",
                       (int)st_utf8_cut(item, n, 60), item);
    }
    if (w->lanes->n_places == CLI_PLACES_MAX) return st_fail(err, STRETTO_E_USAGE, "--place has more than 256 parts");
    int rc = refuse_twice(w->lanes, &place, err);
    if (!rc) rc = want_lane(w, at + 1, (size_t)(item + n - at - 1), &place.lane, err);
    if (!rc) w->lanes->places[w->lanes->n_places++] = place;
    return rc;
}

static int want_places(wanted *w, const char *place, stretto_error *err) {
    while (place) {
        size_t n = strcspn(place, ",");
        int rc = want_place(w, place, n, err);
        if (rc) return rc;
        place = place[n] ? place + n + 1 : NULL;
    }
    return STRETTO_OK;
}

static int open_lane(cli_lanes *lanes, unsigned i, const unsigned *cores, unsigned n, uint32_t threads,
                     const st_log *log, stretto_error *err) {
    st_cpu_options options = {.cores = cores, .n_cores = n, .n_threads = threads, .pin = true, .log = log};
    int rc = st_cpu_open(&lanes->units[i], &lanes->host, &options, err);
    if (rc) return rc;
    st_unit_info info;
    st_unit_info_get(lanes->units[i], &info);
    snprintf(lanes->names[i], sizeof lanes->names[i], "%s", info.name);
    return STRETTO_OK;
}

/* All cores as one more lane, for the chunks that are not placed. */
static int open_default(cli_lanes *lanes, uint32_t threads, const st_log *log, stretto_error *err) {
    unsigned cores[ST_HOST_MAX_CORES];
    unsigned n = lanes->host.n_cores < ST_UNIT_MAX_CORES ? lanes->host.n_cores : ST_UNIT_MAX_CORES;
    for (unsigned i = 0; i < n; i++) cores[i] = i;
    if (!threads && lanes->host.max_threads < n)
        threads = lanes->host.max_threads; /* the quota: nothing was asked, no warning */
    if (lanes->n == CLI_LANES_MAX) return st_fail(err, STRETTO_E_USAGE, "more than %d units", CLI_LANES_MAX);
    lanes->other = lanes->n;
    int rc = open_lane(lanes, lanes->n, cores, n, threads, log, err);
    if (!rc) lanes->n++;
    return rc;
}

/* each: threads of each lane, or NULL: so many of all. */
static int open_wanted(wanted *w, uint32_t threads, const uint32_t *each, const st_log *log, stretto_error *err) {
    st_core_set *all;
    unsigned n_all;
    if (w->text.failed) return st_fail_memory(err, "the list of units", w->text.len);
    int rc = st_core_sets_parse(&all, &n_all, w->text.data, &w->lanes->host, log, err);
    if (rc) return rc;
    st_core_sets_free(all, n_all);
    for (unsigned i = 0; i < w->lanes->n && !rc; i++) {
        rc = open_lane(w->lanes, i, w->sets[i]->cores, w->sets[i]->n, each ? each[i] : threads, log, err);
    }
    return rc;
}

/* Whether a place names all cores: then that is the unit of the other chunks, too. */
static bool find_all_cores(const wanted *w) {
    for (unsigned i = 0; i < w->lanes->n; i++) {
        if (w->sets[i]->n != w->lanes->host.n_cores) continue;
        w->lanes->other = i;
        return true;
    }
    return false;
}

static int open_lanes(cli_lanes *lanes, const char *units, const char *place, uint32_t threads, const uint32_t *each,
                      const st_log *log, stretto_error *err) {
    *lanes = (cli_lanes){0};
    int rc = st_host_read(&lanes->host, "", err);
    if (rc) return rc;
    wanted w = {.lanes = lanes};
    rc = want_units(&w, units, err);
    if (!rc) rc = want_places(&w, place, err);
    if (!rc && lanes->n) rc = open_wanted(&w, threads, each, log, err);
    if (!rc && !units && !find_all_cores(&w)) rc = open_default(lanes, threads, log, err);
    for (unsigned i = 0; i < CLI_LANES_MAX && w.sets[i]; i++) st_core_sets_free(w.sets[i], 1);
    st_buf_free(&w.text);
    if (rc) cli_lanes_close(lanes);
    return rc;
}

int cli_lanes_open(cli_lanes *lanes, const char *units, const char *place, uint32_t threads, const st_log *log,
                   stretto_error *err) {
    return open_lanes(lanes, units, place, threads, NULL, log, err);
}

int cli_lanes_open_each(cli_lanes *lanes, const char *units, const uint32_t *threads, const st_log *log,
                        stretto_error *err) {
    return open_lanes(lanes, units, NULL, 0, threads, log, err);
}

int cli_lanes_add_halves(cli_lanes *lanes, const st_log *log, stretto_error *err) {
    const st_host *host = &lanes->host;
    if (host->n_cores < 2 || host->max_threads < 2) return STRETTO_OK;
    if (lanes->n > CLI_LANES_MAX - 2)
        return st_fail(err, STRETTO_E_USAGE, "more than %d units, with the halves of all cores", CLI_LANES_MAX);
    unsigned cores[ST_UNIT_MAX_CORES];
    unsigned all = host->n_cores < 2 * ST_UNIT_MAX_CORES ? host->n_cores : 2 * ST_UNIT_MAX_CORES;
    for (unsigned half = 0; half < 2; half++) {
        unsigned first = half ? all / 2 : 0, n = half ? all - all / 2 : all / 2;
        unsigned threads = half ? host->max_threads - host->max_threads / 2 : host->max_threads / 2;
        for (unsigned i = 0; i < n; i++) cores[i] = first + i;
        int rc = open_lane(lanes, lanes->n, cores, n, threads < n ? threads : n, log, err);
        if (rc) return rc;
        lanes->n++;
    }
    return STRETTO_OK;
}

static int reopen_all(cli_lanes *lanes, const st_unit_info *infos, unsigned n, stretto_error *err) {
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < n && !rc; i++) {
        rc = open_lane(lanes, i, infos[i].cores, infos[i].n_cores, infos[i].n_threads, NULL, err);
        if (!rc) lanes->n++;
    }
    return rc;
}

int cli_lanes_pause(cli_lanes *lanes, int (*fn)(void *arg, const st_unit_info *infos, stretto_error *err), void *arg,
                    stretto_error *err) {
    unsigned n = lanes->n;
    st_unit_info *infos = calloc(n, sizeof *infos);
    if (!infos) return st_fail_memory(err, "a list of units", n * sizeof *infos);
    for (unsigned i = 0; i < n; i++) st_unit_info_get(lanes->units[i], &infos[i]);
    for (unsigned i = 0; i < n; i++) st_unit_close(lanes->units[i]);
    lanes->n = 0;
    int rc = fn(arg, infos, err);
    if (!rc) rc = reopen_all(lanes, infos, n, err);
    free(infos);
    return rc;
}

void cli_lanes_close(cli_lanes *lanes) {
    for (unsigned i = 0; i < lanes->n; i++) st_unit_close(lanes->units[i]);
    lanes->n = 0;
    st_host_free(&lanes->host);
}

int cli_lanes_assign(const cli_lanes *lanes, uint32_t n_chunks, st_unit **unit_of, const st_log *log,
                     stretto_error *err) {
    bool used[CLI_LANES_MAX] = {false};
    for (uint32_t c = 0; c < n_chunks; c++) unit_of[c] = lanes->units[lanes->other];
    for (unsigned i = 0; i < lanes->n_places; i++) {
        const cli_place *p = &lanes->places[i];
        if (p->last > n_chunks) {
            return st_fail(err, STRETTO_E_USAGE, "no chunk %u: the model has %u (1 to %u); --chunks changes that",
                           p->last, n_chunks, n_chunks);
        }
        for (uint32_t c = p->first; c <= p->last; c++) unit_of[c - 1] = lanes->units[p->lane];
    }
    for (unsigned i = 0; i < lanes->n; i++) {
        for (uint32_t c = 0; c < n_chunks; c++) used[i] = used[i] || unit_of[c] == lanes->units[i];
        bool asked = lanes->n_places == 0 || i != lanes->other; /* the lane of the others may have none left */
        if (!used[i] && asked && log)
            st_warn(log, "no chunk runs on %s; --place CHUNK=%s puts one there", lanes->names[i], lanes->names[i]);
    }
    return STRETTO_OK;
}
