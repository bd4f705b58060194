/* SPDX-License-Identifier: MIT
 * Formats: cgroups(7), proc(5), and the kernel's admin-guide/cgroup-v2 and cgroup-v1/memory. */
#include "base/cgroup.h"

#include "base/file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT ((size_t)1 << 20)
#define SMALL 1024 /* bytes of a group's file; cpu.stat has some lines */

static void limit_quota(st_cgroup *out, double quota, double period) {
    if (!(quota > 0) || !(period > 0)) return;
    double cpus = quota / period;
    if (out->quota_cpus == 0 || cpus < out->quota_cpus) out->quota_cpus = cpus;
}

static void limit_memory(st_cgroup *out, const char *text) {
    char *end;
    /* "max" has no digits; v1 without a limit gives a number above all memory. */
    uint64_t bytes = strtoull(text, &end, 10);
    if (end != text && bytes < out->memory_bytes) out->memory_bytes = bytes;
}

/* The text of one file of a group, "" when it has none. */
static void group_read(st_buf *text, const char *dir, const char *name) {
    text->len = 0;
    st_buf path = {0};
    st_buf_printf(&path, "/%s", name);
    if (path.failed || !st_file_read(text, dir, path.data, SMALL)) st_buf_text(text, "");
    st_buf_free(&path);
}

/* The number after `word` in cpu.stat, added to what other groups count. */
static void count_throttled(st_cgroup *out, const char *text) {
    static const char word[] = "nr_throttled ";
    const char *at = strstr(text, word);
    if (at) out->throttled = (out->throttled < 0 ? 0 : out->throttled) + strtoll(at + sizeof word - 1, NULL, 10);
}

static void group_cpu(st_cgroup *out, const char *dir) {
    st_buf text = {0};
    double quota, period;
    group_read(&text, dir, "cpu.max");
    if (!text.failed && sscanf(text.data, "%lf %lf", &quota, &period) == 2) limit_quota(out, quota, period);
    group_read(&text, dir, "cpu.cfs_quota_us");
    if (!text.failed && sscanf(text.data, "%lf", &quota) == 1) {
        group_read(&text, dir, "cpu.cfs_period_us");
        if (!text.failed && sscanf(text.data, "%lf", &period) == 1) limit_quota(out, quota, period);
    }
    group_read(&text, dir, "cpu.stat");
    if (!text.failed) count_throttled(out, text.data);
    st_buf_free(&text);
}

static void group_memory(st_cgroup *out, const char *dir) {
    st_buf text = {0};
    group_read(&text, dir, "memory.max");
    if (!text.failed) limit_memory(out, text.data);
    group_read(&text, dir, "memory.limit_in_bytes");
    if (!text.failed) limit_memory(out, text.data);
    st_buf_free(&text);
}

/* What a hierarchy is read for; with v1 each controller can have one of its own, or share it. */
static const struct controller {
    const char *name;
    void (*read)(st_cgroup *out, const char *dir);
} controllers[] = {{"cpu", group_cpu}, {"memory", group_memory}};

#define N_CONTROLLERS (sizeof controllers / sizeof *controllers)

/* Whether the comma-separated list has the word. */
static bool list_has(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ',')) return true;
    return false;
}

/* The path of this process in the hierarchy that has `controller` ("" means v2), from lines "4:cpu,cpuacct:/a/b"; NULL
 * when there is none. Points into `groups`, whose lines are ended by NUL here. */
static const char *group_path(const char *groups, size_t len, const char *controller) {
    for (const char *line = groups; line < groups + len; line += strlen(line) + 1) {
        const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path) continue;
        char names[128];
        int n = (int)(path - list - 1);
        if (n >= (int)sizeof names) continue;
        memcpy(names, list + 1, (size_t)n);
        names[n] = '\0';
        if (*controller ? list_has(names, controller) : n == 0) return path + 1;
    }
    return NULL;
}

static bool is_octal(char c) {
    return c >= '0' && c <= '7';
}

/* Undoes mountinfo's octal escapes (space is \040), in place. */
static void unescape(char *text) {
    char *out = text;
    for (const char *in = text; *in; out++) {
        bool octal = in[0] == '\\' && is_octal(in[1]) && is_octal(in[2]) && is_octal(in[3]);
        *out = octal ? (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0')) : *in;
        in += octal ? 4 : 1;
    }
    *out = '\0';
}

/* What a controller says of the group at `path` in a hierarchy mounted at `point`, where the mount shows what is below
 * `base`, and of all its ancestors that can be seen. A container often sees its own group as the top: then path does
 * not begin with base, or leads out of it, and the mount point itself is the group. */
static void read_hierarchy(st_cgroup *out, const struct controller *controller, const char *root, const char *point,
                           const char *base, const char *path) {
    size_t skip = strcmp(base, "/") == 0 ? 0 : strlen(base);
    bool below = strncmp(path, base, skip) == 0 && (path[skip] == '/' || path[skip] == '\0');
    const char *rest = below && !strstr(path, "/..") ? path + skip : "";
    st_buf dir = {0};
    st_buf_printf(&dir, "%s%s", root, point);
    size_t top = dir.len;
    st_buf_text(&dir, rest);
    while (!dir.failed) {
        controller->read(out, dir.data);
        char *slash = strrchr(dir.data + top, '/');
        if (!slash) break;
        *slash = '\0';
    }
    st_buf_free(&dir);
}

/* One line of mountinfo: "36 35 98:0 BASE POINT options [tags ...] - TYPE source SUPER". */
static void read_mount(st_cgroup *out, const char *root, char *line, const char *groups, size_t groups_len) {
    char *field[5], *rest = line, *tail = strstr(line, " - ");
    if (!tail) return;
    *tail = '\0';
    for (int i = 0; i < 5; i++)
        if (!(field[i] = strsep(&rest, " "))) return;
    tail += 3;
    const char *type = strsep(&tail, " ");
    strsep(&tail, " ");
    if (!tail) return;
    unescape(field[3]);
    unescape(field[4]);
    bool v1 = strcmp(type, "cgroup") == 0, v2 = strcmp(type, "cgroup2") == 0;
    for (size_t i = 0; i < N_CONTROLLERS && (v1 || v2); i++) {
        const char *name = controllers[i].name, *path = NULL;
        if (v2 || list_has(tail, name)) path = group_path(groups, groups_len, v2 ? "" : name);
        if (path) read_hierarchy(out, &controllers[i], root, field[4], field[3], path);
    }
}

void st_cgroup_read(st_cgroup *out, const char *root) {
    *out = (st_cgroup){.quota_cpus = 0, .memory_bytes = UINT64_MAX, .throttled = -1};
    st_buf groups = {0}, mounts = {0};
    if (st_file_read(&groups, root, "/proc/self/cgroup", FILE_LIMIT) &&
        st_file_read(&mounts, root, "/proc/self/mountinfo", FILE_LIMIT)) {
        for (size_t i = 0; i < groups.len; i++)
            if (groups.data[i] == '\n') groups.data[i] = '\0';
        char *rest = mounts.data, *line;
        while ((line = strsep(&rest, "\n"))) read_mount(out, root, line, groups.data, groups.len);
    }
    st_buf_free(&groups);
    st_buf_free(&mounts);
}
