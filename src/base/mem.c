/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* the kernel's number; C libraries before 2.37 lack it */
#endif

#define HUGE_PAGE ((size_t)2 << 20) /* x86-64, and arm64 with 4K pages; elsewhere the requests below are refused */

/* calloc with room for alignment, since it leaves large fresh pages untouched where a memset would make them resident.
 * The pointer to give back stands right before the aligned block. */
void *st_alloc(size_t count, size_t size) {
    const size_t extra = ST_ALIGN + sizeof(void *);
    if (size != 0 && count > (SIZE_MAX - extra) / size) return NULL;
    char *raw = calloc(1, count * size + extra);
    if (!raw) return NULL;
    uintptr_t start = (uintptr_t)raw + sizeof(void *);
    char *p = raw + sizeof(void *) + (ST_ALIGN - start % ST_ALIGN) % ST_ALIGN;
    memcpy(p - sizeof(void *), &raw, sizeof raw);
    return p;
}

void st_free(void *p) {
    if (!p) return;
    void *raw;
    memcpy(&raw, (char *)p - sizeof(void *), sizeof raw);
    free(raw);
}

/* Maps at a multiple of HUGE_PAGE, without which no huge page fits: room for one more is reserved and the rest given
 * back. */
static void *map_aligned(size_t bytes, int flags, int fd) {
    char *room = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return MAP_FAILED;
    size_t before = (HUGE_PAGE - (uintptr_t)room % HUGE_PAGE) % HUGE_PAGE;
    void *data = mmap(room + before, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
    if (data == MAP_FAILED) {
        munmap(room, bytes + HUGE_PAGE);
        return MAP_FAILED;
    }
    if (before > 0) munmap(room, before);
    munmap(room + before + bytes, HUGE_PAGE - before);
    return data;
}

/* A shared mapping of a new memfd; -1 when the kernel has none to give. */
static int region_map_shared(st_region *region, const char *name, size_t bytes) {
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) return -1;
    void *data = ftruncate(fd, (off_t)bytes) == 0 ? map_aligned(bytes, MAP_SHARED, fd) : MAP_FAILED;
    if (data == MAP_FAILED) {
        close(fd);
        return -1;
    }
    *region = (st_region){.data = data, .bytes = bytes, .fd = fd};
    return 0;
}

static int region_map_anonymous(st_region *region, size_t bytes) {
    void *data = map_aligned(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (data == MAP_FAILED) return -1;
    *region = (st_region){.data = data, .bytes = bytes, .fd = -1};
    return 0;
}

/* MADV_HUGEPAGE is enough for anonymous memory, but nearly everywhere not for a memfd (shmem_enabled is `never` by
 * default). MADV_COLLAPSE (Linux 6.1) does not ask that setting: a page that has one small page in it becomes a huge
 * one, at the price of the page fault that it saves. Where it is refused nothing is lost. */
bool st_region_settle(const st_region *region, unsigned part, unsigned parts) {
    if (region->fd < 0) return false;
    size_t pages = region->bytes / HUGE_PAGE, end = pages * (part + 1) / parts;
    for (size_t i = pages * part / parts; i < end; i++) {
        uint8_t *at = region->data + i * HUGE_PAGE;
        (void)*(volatile uint8_t *)at; /* a page of a memfd is made when it is read, too */
        if (madvise(at, HUGE_PAGE, MADV_COLLAPSE) != 0) return false;
    }
    return true;
}

int st_region_map(st_region *region, const char *name, size_t bytes, stretto_error *err) {
    *region = (st_region){.data = NULL, .bytes = 0, .fd = -1};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > (size_t)PTRDIFF_MAX - 2 * HUGE_PAGE) return st_fail_memory(err, name, bytes);
    bytes = bytes == 0 ? page : (bytes + page - 1) / page * page;
    if (region_map_shared(region, name, bytes) != 0 && region_map_anonymous(region, bytes) != 0)
        return st_fail_memory(err, name, bytes);
    (void)madvise(region->data, region->bytes, MADV_HUGEPAGE);
    return STRETTO_OK;
}

int st_region_create(st_region *region, const char *name, size_t bytes, stretto_error *err) {
    int code = st_region_map(region, name, bytes, err);
    if (code == STRETTO_OK) st_region_settle(region, 0, 1);
    return code;
}

void st_region_destroy(st_region *region) {
    if (region->data) munmap(region->data, region->bytes);
    if (region->fd >= 0) close(region->fd);
    *region = (st_region){.data = NULL, .bytes = 0, .fd = -1};
}
