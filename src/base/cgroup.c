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
    if (path.failed || !st_file_read(text, dir, path.data, 256)) st_buf_text(text, "");
    st_buf_free(&path);
}

static void group_limits(st_cgroup *out, const char *dir) {
    st_buf text = {0};
    double quota, period;
    group_read(&text, dir, "cpu.max");
    if (!text.failed && sscanf(text.data, "%lf %lf", &quota, &period) == 2) limit_quota(out, quota, period);
    group_read(&text, dir, "cpu.cfs_quota_us");
    if (!text.failed && sscanf(text.data, "%lf", &quota) == 1) {
        group_read(&text, dir, "cpu.cfs_period_us");
        if (!text.failed && sscanf(text.data, "%lf", &period) == 1) limit_quota(out, quota, period);
    }
    group_read(&text, dir, "memory.max");
    if (!text.failed) limit_memory(out, text.data);
    group_read(&text, dir, "memory.limit_in_bytes");
    if (!text.failed) limit_memory(out, text.data);
    st_buf_free(&text);
}

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
        char controllers[128];
        int n = (int)(path - list - 1);
        if (n >= (int)sizeof controllers) continue;
        memcpy(controllers, list + 1, (size_t)n);
        controllers[n] = '\0';
        if (*controller ? list_has(controllers, controller) : n == 0) return path + 1;
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

/* Limits of the group at `path` in a hierarchy mounted at `point`, where the mount shows what is below `base`, and of
 * all its ancestors that can be seen. A container often sees its own group as the top: then path does not begin with
 * base, or leads out of it, and the mount point itself is the group. */
static void hierarchy_limits(st_cgroup *out, const char *root, const char *point, const char *base, const char *path) {
    size_t skip = strcmp(base, "/") == 0 ? 0 : strlen(base);
    bool below = strncmp(path, base, skip) == 0 && (path[skip] == '/' || path[skip] == '\0');
    const char *rest = below && !strstr(path, "/..") ? path + skip : "";
    st_buf dir = {0};
    st_buf_printf(&dir, "%s%s", root, point);
    size_t top = dir.len;
    st_buf_text(&dir, rest);
    while (!dir.failed) {
        group_limits(out, dir.data);
        char *slash = strrchr(dir.data + top, '/');
        if (!slash) break;
        *slash = '\0';
    }
    st_buf_free(&dir);
}

/* One line of mountinfo: "36 35 98:0 BASE POINT options [tags ...] - TYPE source SUPER". */
static void mount_limits(st_cgroup *out, const char *root, char *line, const char *groups, size_t groups_len) {
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
    static const char *const controllers[] = {"cpu", "memory"};
    for (int i = 0; i < 2 && strcmp(type, "cgroup") == 0; i++) {
        const char *path = list_has(tail, controllers[i]) ? group_path(groups, groups_len, controllers[i]) : NULL;
        if (path) hierarchy_limits(out, root, field[4], field[3], path);
    }
    const char *path = strcmp(type, "cgroup2") == 0 ? group_path(groups, groups_len, "") : NULL;
    if (path) hierarchy_limits(out, root, field[4], field[3], path);
}

void st_cgroup_read(st_cgroup *out, const char *root) {
    *out = (st_cgroup){.quota_cpus = 0, .memory_bytes = UINT64_MAX};
    st_buf groups = {0}, mounts = {0};
    if (st_file_read(&groups, root, "/proc/self/cgroup", FILE_LIMIT) &&
        st_file_read(&mounts, root, "/proc/self/mountinfo", FILE_LIMIT)) {
        for (size_t i = 0; i < groups.len; i++)
            if (groups.data[i] == '\n') groups.data[i] = '\0';
        char *rest = mounts.data, *line;
        while ((line = strsep(&rest, "\n"))) mount_limits(out, root, line, groups.data, groups.len);
    }
    st_buf_free(&groups);
    st_buf_free(&mounts);
}
