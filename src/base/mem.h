/* SPDX-License-Identifier: MIT
 * Aligned and large memory. */
#ifndef ST_BASE_MEM_H
#define ST_BASE_MEM_H

#include "stretto/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ST_ALIGN 64 /* a cache line, and the widest vector */

/* Zeroed, 64-byte aligned memory for count items of size bytes each, NULL when count * size overflows or memory is
 * out. */
void *st_alloc(size_t count, size_t size);
void st_free(void *p); /* what st_alloc gave; NULL is fine */

/* A region for weights: a shared memory file (memfd) so that a second process can map it, on huge pages where the
 * kernel grants them (then resident from the start), else anonymous memory. Zeroed, page aligned. */
typedef struct st_region {
    uint8_t *data;
    size_t bytes; /* rounded up to whole pages */
    int fd;       /* the memfd, or -1 */
} st_region;

/* name appears in /proc/PID/maps and in errors. STRETTO_E_MEMORY. */
int st_region_create(st_region *region, const char *name, size_t bytes, stretto_error *err);
/* The same in two steps, so that several threads can share the second: a region without pages, then the huge pages of
 * its part number `part` of `parts`; false: the kernel makes none. What is never settled gets its pages, small ones,
 * when it is touched. */
int st_region_map(st_region *region, const char *name, size_t bytes, stretto_error *err);
bool st_region_settle(const st_region *region, unsigned part, unsigned parts);
void st_region_destroy(st_region *region);

#endif
