/* SPDX-License-Identifier: MIT */
#include "base/usage.h"

#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LEAST_NS 50000000
#define LOOK_NS 100000000

static int64_t ticks_ns(int64_t ticks) {
    const long hz = sysconf(_SC_CLK_TCK);
    return hz > 0 ? ticks * (1000000000 / hz) : -1;
}

/* The first line: user nice system idle iowait irq softirq steal. */
static void read_machine(st_usage *out, const char *root) {
    st_buf text = {0};
    int64_t n[8] = {0};
    if (st_file_read(&text, root, "/proc/stat", 512) && !text.failed && text.data &&
        sscanf(text.data,
               "cpu %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64,
               &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7]) >= 7) {
        out->busy_ns = ticks_ns(n[0] + n[1] + n[2] + n[5] + n[6]);
        out->stolen_ns = ticks_ns(n[7]);
    }
    st_buf_free(&text);
}

static int64_t rusage_ns(int who) {
    struct rusage use;
    if (getrusage(who, &use) != 0) return 0;
    return (int64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000 +
           (int64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
}

/* utime and stime are the 14th and 15th field; the 2nd, a name in parentheses, may hold spaces. */
static int64_t process_ns(long pid) {
    char path[64];
    st_buf text = {0};
    int64_t user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (st_file_read(&text, "", path, 1024) && !text.failed && text.data) {
        const char *at = strrchr(text.data, ')');
        if (!at ||
            sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNd64 " %" SCNd64, &user, &system) != 2)
            user = system = 0;
    }
    st_buf_free(&text);
    return ticks_ns(user + system);
}

/* Children that run now; they are listed with the thread that started them. */
static int64_t children_ns(void) {
    DIR *tasks = opendir("/proc/self/task");
    int64_t sum = 0;
    if (!tasks) return 0;
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300];
        st_buf text = {0};
        snprintf(path, sizeof path, "/proc/self/task/%s/children", task->d_name);
        if (task->d_name[0] != '.' && st_file_read(&text, "", path, 4096) && !text.failed && text.data) {
            char *end, *at = text.data;
            for (long pid; (pid = strtol(at, &end, 10)) > 0 && end != at; at = end) sum += process_ns(pid);
        }
        st_buf_free(&text);
    }
    closedir(tasks);
    return sum;
}

void st_usage_read(st_usage *out, const char *root) {
    *out = (st_usage){.wall_ns = st_now_ns(), .busy_ns = -1, .stolen_ns = -1};
    out->own_ns = rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN) + children_ns();
    read_machine(out, root);
}

/* Nanoseconds of CPU time over those of wall time. */
static double average(const st_usage *from, const st_usage *to, int64_t ns) {
    if (to->wall_ns < from->wall_ns + LEAST_NS) return -1;
    return ns > 0 ? (double)ns / (double)(to->wall_ns - from->wall_ns) : 0;
}

double st_usage_others(const st_usage *from, const st_usage *to) {
    if (from->busy_ns < 0 || to->busy_ns < 0) return -1;
    return average(from, to, (to->busy_ns - from->busy_ns) - (to->own_ns - from->own_ns));
}

double st_usage_stolen(const st_usage *from, const st_usage *to) {
    if (from->stolen_ns < 0 || to->stolen_ns < 0) return -1;
    return average(from, to, to->stolen_ns - from->stolen_ns);
}

double st_usage_others_now(void) {
    const struct timespec nap = {.tv_nsec = LOOK_NS};
    st_usage from, to;
    st_usage_read(&from, "");
    nanosleep(&nap, NULL);
    st_usage_read(&to, "");
    return st_usage_others(&from, &to);
}
