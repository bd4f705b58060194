/* SPDX-License-Identifier: MIT */
#include "base/host.h"

#include "base/cgroup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/isa.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The hardware threads we may use: hwloc knows the cpuset of the control group, the binding adds taskset and the like.
 * Empty on failure. */
static hwloc_bitmap_t allowed_cpus(hwloc_topology_t topology) {
    hwloc_bitmap_t allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (allowed && bound && hwloc_topology_is_thissystem(topology) &&
        hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_THREAD) == 0)
        hwloc_bitmap_and(allowed, allowed, bound);
    hwloc_bitmap_free(bound);
    return allowed;
}

static int core_kind(hwloc_topology_t topology, hwloc_obj_t core) {
    if (hwloc_cpukinds_get_nr(topology, 0) <= 1) return -1;
    return hwloc_cpukinds_get_by_cpuset(topology, core->cpuset, 0);
}

/* Lists the physical cores with an allowed hardware thread; returns how many. Where hwloc finds no cores (some virtual
 * machines) each hardware thread counts as one. `mine` is scratch. */
static unsigned read_cores(st_host *host, hwloc_topology_t topology, hwloc_const_bitmap_t allowed,
                           hwloc_bitmap_t mine) {
    int depth = hwloc_get_type_or_below_depth(topology, HWLOC_OBJ_CORE);
    unsigned n = hwloc_get_nbobjs_by_depth(topology, depth);
    for (unsigned i = 0; i < n && host->n_cores < ST_HOST_MAX_CORES; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_depth(topology, depth, i);
        hwloc_bitmap_and(mine, core->cpuset, allowed);
        if (hwloc_bitmap_iszero(mine)) continue;
        hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
        st_core *out = &host->cores[host->n_cores++];
        *out = (st_core){.cpu = (unsigned)hwloc_bitmap_first(mine),
                         .n_cpus = (unsigned)hwloc_bitmap_weight(mine),
                         .package = package ? package->logical_index : 0,
                         .core = core->logical_index,
                         .kind = core_kind(topology, core)};
        host->n_cpus += out->n_cpus;
    }
    return host->n_cores;
}

static void read_caches(st_host *host, hwloc_topology_t topology) {
    hwloc_obj_t obj = hwloc_get_pu_obj_by_os_index(topology, host->cores[0].cpu);
    for (; obj; obj = obj->parent) {
        if (!hwloc_obj_type_is_dcache(obj->type)) continue;
        if (obj->type == HWLOC_OBJ_L2CACHE) host->l2_bytes = obj->attr->cache.size;
        host->llc_bytes = obj->attr->cache.size; /* the outermost comes last */
    }
}

static void read_model(st_host *host, hwloc_topology_t topology, const char *machine) {
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (!model) model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "CPUModel");
    snprintf(host->cpu_model, sizeof host->cpu_model, "%s", model ? model : machine);
}

static int read_topology(st_host *host, hwloc_topology_t topology, stretto_error *err) {
    hwloc_bitmap_t allowed = allowed_cpus(topology), mine = hwloc_bitmap_alloc();
    host->cores = st_alloc(ST_HOST_MAX_CORES, sizeof *host->cores);
    int code = STRETTO_OK;
    if (!allowed || !mine || !host->cores)
        code = st_fail_memory(err, "the list of cores", ST_HOST_MAX_CORES * sizeof *host->cores);
    else if (read_cores(host, topology, allowed, mine) == 0)
        code =
            st_fail(err, STRETTO_E_UNIT, "no processor core is allowed here (cpuset and affinity have none in common)");
    else
        read_caches(host, topology);
    hwloc_bitmap_free(allowed);
    hwloc_bitmap_free(mine);
    return code;
}

static int load_topology(st_host *host, const char *machine, stretto_error *err) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0) return st_fail_memory(err, "hwloc's topology", 0);
    int code = STRETTO_OK;
    if (hwloc_topology_load(topology) != 0)
        code = st_fail(err, STRETTO_E_UNIT, "hwloc could not read the processor topology of this machine");
    else
        code = read_topology(host, topology, err);
    if (code == STRETTO_OK) read_model(host, topology, machine);
    hwloc_topology_destroy(topology);
    return code;
}

static void read_governor(st_host *host, const char *root) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", host->cores[0].cpu);
    st_buf text = {0};
    if (st_file_read(&text, root, path, sizeof host->governor - 1))
        snprintf(host->governor, sizeof host->governor, "%.*s", (int)strcspn(text.data, "\n"), text.data);
    st_buf_free(&text);
}

static uint64_t memory_within(const st_cgroup *group) {
    uint64_t total = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return group->memory_bytes < total ? group->memory_bytes : total;
}

uint64_t st_host_memory_most(const char *root) {
    st_cgroup group;
    struct sysinfo info;
    st_cgroup_read(&group, root);
    return memory_within(&group) + (sysinfo(&info) == 0 ? (uint64_t)info.totalswap * info.mem_unit : 0);
}

static void read_limits(st_host *host, const char *root) {
    st_cgroup group;
    st_cgroup_read(&group, root);
    host->quota_cpus = group.quota_cpus;
    host->max_threads = host->n_cores;
    /* The small amount forgives a quota that is a whole number but for rounding. */
    if (group.quota_cpus > 0 && ceil(group.quota_cpus - 1e-6) < host->n_cores)
        host->max_threads = (unsigned)fmax(1, ceil(group.quota_cpus - 1e-6));
    host->memory_bytes = memory_within(&group);
}

int st_host_read(st_host *host, const char *root, stretto_error *err) {
    *host = (st_host){0};
    struct utsname names;
    if (uname(&names) != 0) return st_fail(err, STRETTO_E_UNIT, "uname: the kernel does not say what it is");
    snprintf(host->kernel, sizeof host->kernel, "%.*s", ST_CUT(names.release, 63));
    snprintf(host->isa, sizeof host->isa, "%s", st_isa_name());
    int code = load_topology(host, names.machine, err);
    if (code != STRETTO_OK) {
        st_host_free(host);
        return code;
    }
    read_governor(host, root);
    read_limits(host, root);
    return STRETTO_OK;
}

void st_host_free(st_host *host) {
    st_free(host->cores);
    *host = (st_host){0};
}

double st_host_load(void) {
    double load;
    return getloadavg(&load, 1) == 1 ? load : -1;
}
