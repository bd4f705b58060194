/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* A shared mapping of a new memfd; -1 and errno when the kernel has none to give. */
static int region_map_shared(st_region *region, const char *name, size_t bytes) {
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) return -1;
    if (ftruncate(fd, (off_t)bytes) == 0) {
        void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (data != MAP_FAILED) {
            *region = (st_region){.data = data, .bytes = bytes, .fd = fd};
            return 0;
        }
    }
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int region_map_anonymous(st_region *region, size_t bytes) {
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return -1;
    *region = (st_region){.data = data, .bytes = bytes, .fd = -1};
    return 0;
}

int st_region_create(st_region *region, const char *name, size_t bytes, stretto_error *err) {
    *region = (st_region){.data = NULL, .bytes = 0, .fd = -1};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > (size_t)PTRDIFF_MAX - page) return st_fail_memory(err, name, bytes);
    bytes = bytes == 0 ? page : (bytes + page - 1) / page * page;
    if (region_map_shared(region, name, bytes) != 0 && region_map_anonymous(region, bytes) != 0)
        return st_fail_memory(err, name, bytes);
    /* A wish: refused where huge pages are not built in; for a memfd the kernel also wants shmem_enabled. */
    (void)madvise(region->data, bytes, MADV_HUGEPAGE);
    return 0;
}

void st_region_destroy(st_region *region) {
    if (region->data) munmap(region->data, region->bytes);
    if (region->fd >= 0) close(region->fd);
    *region = (st_region){.data = NULL, .bytes = 0, .fd = -1};
}
