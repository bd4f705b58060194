/* SPDX-License-Identifier: MIT
 * What is known of a row before it is measured. */
#include "probe/rounds.h"

#include <stdio.h>
#include <string.h>

_Static_assert(ST_PROBE_NAME == sizeof((st_unit_info *)0)->name, "names of units fit");

static bool cores_have(const st_unit_info *info, unsigned core) {
    for (unsigned i = 0; i < info->n_cores; i++)
        if (info->cores[i] == core) return true;
    return false;
}

static unsigned cores_shared(const st_unit_info info[2]) {
    unsigned shared = 0;
    for (unsigned i = 0; i < info[0].n_cores; i++) shared += cores_have(&info[1], info[0].cores[i]);
    return shared;
}

/* Whether a core of one unit and another of the other are hardware threads of the same physical core. */
static bool cores_are_siblings(const st_unit_info info[2], const st_host *host) {
    for (unsigned i = 0; i < info[0].n_cores; i++)
        for (unsigned j = 0; j < info[1].n_cores; j++) {
            unsigned a = info[0].cores[i], b = info[1].cores[j];
            if (a != b && a < host->n_cores && b < host->n_cores && host->cores[a].core == host->cores[b].core)
                return true;
        }
    return false;
}

st_row_cores st_row_cores_of(const st_unit_info info[2], bool one_unit, const st_host *host) {
    st_row_cores cores = {.threads = info[0].n_threads + (one_unit ? 0 : info[1].n_threads),
                          .allowed = host ? host->max_threads : 0};
    if (!info[0].n_cores || (!one_unit && !info[1].n_cores)) return cores;
    cores.shared = one_unit ? 0 : cores_shared(info);
    cores.cores = info[0].n_cores + (one_unit ? 0 : info[1].n_cores - cores.shared);
    cores.siblings = !one_unit && host && cores_are_siblings(info, host);
    return cores;
}

/* One stream cannot use any overlap within its chain, whatever the factor. */
static void row_chain(st_probe_row *row, const char *chain) {
    st_worth *worth = &row->worth[ST_USE_ONE_STREAM];
    row->chain = true;
    worth->verdict = ST_WORTH_IMPOSSIBLE;
    if (chain)
        snprintf(worth->reason, sizeof worth->reason, "%s is a chain: nothing can run beside it", chain);
    else
        snprintf(worth->reason, sizeof worth->reason, "the steps depend on each other");
}

/* Controls on two units; of a batch what its unit reads, with its peak where there is none. */
static void row_beside(st_probe_row *row, const st_probe_setup *setup, const st_probe_job *job) {
    if (row->k && setup->peaks) row->peak_gb_per_s = setup->peaks[job->unit[0]].gb_per_s;
    if (!setup->controls || row->one_unit) return;
    for (unsigned kind = 0; kind < ST_CONTROL_COUNT; kind++) {
        const st_step *const *steps = setup->controls[kind].steps;
        if (!steps || (row->k && kind != ST_CONTROL_BANDWIDTH)) continue;
        const st_step *own[2] = {steps[job->unit[0]], steps[job->unit[1]]};
        if (!own[0] || !own[1]) continue;
        row->beside |= 1u << kind;
        for (unsigned i = 0; i < 2; i++)
            row->work[kind][i] = (double)(kind == ST_CONTROL_BANDWIDTH ? own[i]->bytes : own[i]->operations);
    }
}

void st_row_describe(st_probe_row *row, const st_probe_setup *setup, const st_probe_job *job) {
    row->arrangement = job->arrangement;
    if (job->chain) row_chain(row, setup->chain);
    row->k = job->arrangement->k;
    row->one_unit = !job->skip && !row->k && job->unit[0] == job->unit[1];
    st_unit_info info[2];
    for (unsigned i = 0; i < 2; i++) {
        snprintf(row->name[i], sizeof row->name[i], "%s", setup->sides[job->side[i]].name);
        if (job->skip) continue;
        st_unit_info_get(setup->units[job->unit[i]], &info[i]);
        memcpy(row->unit[i], info[i].name, sizeof row->unit[i]);
        const st_step *step = setup->sides[job->side[i]].steps[job->unit[i]];
        row->bytes[i] = step->bytes;
        row->operations[i] = step->operations;
    }
    if (!job->skip) row->cores = st_row_cores_of(info, job->unit[0] == job->unit[1], setup->host);
    if (!job->skip) row_beside(row, setup, job);
    if (row->k) row->name[1][0] = row->unit[1][0] = '\0';
    row->arms = row->k ? st_batch_arms() : st_pair_arms(row->one_unit);
    for (unsigned arm = 0; arm < ST_ARM_COUNT; arm++) row->n_arms += row->arms >> arm & 1;
}
