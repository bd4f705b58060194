/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "json_out.h"
#include "kern/kern.h"
#include "session.h"

#include <string.h>

#define TABLES_MAX 16

typedef struct units_options {
    const char *units;
    uint32_t threads;
    bool json;
} units_options;

static json_t *cores_json(const st_host *host) {
    json_t *list = json_array();
    for (unsigned i = 0; i < host->n_cores; i++) {
        const st_core *c = &host->cores[i];
        st_json_append(&list, json_pack("{s:i, s:i, s:i, s:i, s:i, s:o}", "index", (int)i, "cpu", (int)c->cpu,
                                        "hardware_threads", (int)c->n_cpus, "package", (int)c->package, "core",
                                        (int)c->core, "kind", c->kind < 0 ? json_null() : json_integer(c->kind)));
    }
    return list;
}

static json_t *unit_json(const st_unit *unit) {
    st_unit_info info;
    st_unit_info_get(unit, &info);
    json_t *cores = json_array();
    for (unsigned i = 0; i < info.n_cores; i++) st_json_append(&cores, json_integer(info.cores[i]));
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:i, s:b}", "name", info.name, "kind", info.kind, "device", info.device,
                     "threads", (int)info.n_threads, "cores", cores, "max_pending", (int)info.max_pending,
                     "shares_memory", (int)info.shares_memory);
}

static json_t *kernels_json(const st_kern *chosen) {
    const st_kern *tables[TABLES_MAX];
    size_t n = st_kern_list(tables, TABLES_MAX);
    json_t *names = json_array();
    for (size_t i = 0; i < n && i < TABLES_MAX; i++) st_json_append(&names, json_string(tables[i]->name));
    return json_pack("{s:s, s:o}", "chosen", chosen->name, "usable", names);
}

static int print_json(cli *cx, const cli_lanes *lanes, const st_kern *kern, stretto_error *err) {
    const st_host *h = &lanes->host;
    json_t *units = json_array();
    for (unsigned i = 0; i < lanes->n; i++) st_json_append(&units, unit_json(lanes->units[i]));
    json_t *root = json_pack("{s:o, s:o, s:o}", "cores", cores_json(h), "units", units, "kernels", kernels_json(kern));
    st_json_set(&root, "max_threads", st_json_count(h->max_threads));
    st_json_set(&root, "l2_bytes", st_json_count(h->l2_bytes));
    st_json_set(&root, "load", st_json_real(st_host_load()));
    return cli_json_print(cx, root, h, err);
}

static void print_host(cli *cx, const st_host *h) {
    cli_printf(cx, "%s, %s; %.1f GB memory; caches %.1f MB and %.1f MB; load %.1f\n", h->cpu_model, h->isa,
               (double)h->memory_bytes / 1e9, (double)h->l2_bytes / 1e6, (double)h->llc_bytes / 1e6, st_host_load());
    cli_printf(cx, "%u cores, %u hardware threads allowed here", h->n_cores, h->n_cpus);
    if (h->quota_cpus > 0) cli_printf(cx, ", a quota of %.2f CPUs", h->quota_cpus);
    cli_printf(cx, "; threads worth starting: %u\n\n", h->max_threads);
    cli_printf(cx, "  core  cpu  hardware threads  package  kind\n");
    for (unsigned i = 0; i < h->n_cores; i++) {
        const st_core *c = &h->cores[i];
        char kind[16];
        snprintf(kind, sizeof kind, "%d", c->kind);
        cli_printf(cx, "  %4u %4u %17u %8u  %4s\n", i, c->cpu, c->n_cpus, c->package, c->kind < 0 ? "-" : kind);
    }
}

static void print_units(cli *cx, const cli_lanes *lanes, const st_kern *chosen) {
    cli_printf(cx, "\n  unit          threads  device\n");
    for (unsigned i = 0; i < lanes->n; i++) {
        st_unit_info info;
        st_unit_info_get(lanes->units[i], &info);
        cli_printf(cx, "  %-13s %7u  %s\n", info.name, info.n_threads, info.device);
    }
    const st_kern *tables[TABLES_MAX];
    size_t n = st_kern_list(tables, TABLES_MAX);
    cli_printf(cx, "\n  kernels: %s; usable here:", chosen->name);
    for (size_t i = 0; i < n && i < TABLES_MAX; i++) cli_printf(cx, " %s", tables[i]->name);
    cli_printf(cx, "\n");
}

static int units_run(cli *cx, const void *options, stretto_error *err) {
    const units_options *o = options;
    const st_kern *kern;
    cli_lanes lanes = {0};
    int rc = cli_kernels_select(&kern, err);
    if (!rc) rc = cli_lanes_open(&lanes, o->units, NULL, o->threads, &cx->log, err);
    if (rc) return rc;
    if (o->json) {
        rc = print_json(cx, &lanes, kern, err);
    } else {
        print_host(cx, &lanes.host);
        print_units(cx, &lanes, kern);
    }
    cli_lanes_close(&lanes);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(units_options, field)
static const cli_option units_table[] = {
    {.name = "units", .kind = CLI_TEXT, .at = AT(units), .value = "UNITS",
     .help = "units to make, as other commands take them: cpu:0,cpu:1 (all cores as one unit otherwise)"},
    {.name = "threads", .letter = 't', .kind = CLI_COUNT, .at = AT(threads), .value = "T", .least = 1,
     .help = "threads of each unit (one a core otherwise)"},
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print JSON"},
    {0},
};
static const char *const units_usages[] = {"[--units UNITS] [--threads T] [--json]", NULL};
static const cli_example units_examples[] = {
    {"stretto units", "the cores that may be used here, and what they are"},
    {"stretto units --units cpu:0,cpu:1 --json", "two units of one core each"},
    {0},
};

const cli_command cmd_units = {
    .name = "units",
    .summary = "the machine's cores, and the units they make",
    .usages = units_usages,
    .about = "Lists the cores that this process may use, in the order of their numbers in cpu:N, with caches, "
             "limits and kernels, and the units that --units makes of them.",
    .options = units_table,
    .examples = units_examples,
    .options_size = sizeof(units_options),
    .run = units_run,
};
