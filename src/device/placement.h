/* SPDX-License-Identifier: MIT
 * Where the chunks of a model run: which unit each has, and the working memory it needs there. */
#ifndef ST_DEVICE_PLACEMENT_H
#define ST_DEVICE_PLACEMENT_H

#include "chunk/chunk.h"
#include "unit/unit.h"

typedef struct st_placement {
    const st_model *model;
    uint32_t n_chunks, max_rows;
    st_chunk *chunks;     /* [n_chunks] */
    st_unit **units;      /* [n_chunks] */
    st_scratch **scratch; /* [n_chunks] of the chunk's unit, which runs one step at a time; chunks of a unit share it */
} st_placement;

/* spans and units have n_chunks items, which are copied; the model and the units must outlive the placement. max_rows:
 * most rows of one pass. STRETTO_E_USAGE for a unit that does not share memory with the host, STRETTO_E_MEMORY. */
int st_placement_open(st_placement **out, const st_model *model, const st_span *spans, uint32_t n_chunks,
                      st_unit *const *units, uint32_t max_rows, stretto_error *err);
uint64_t st_placement_bytes(const st_placement *placement); /* of its working memory */
void st_placement_close(st_placement *placement);           /* NULL is fine; its passes and streams are closed before */

#endif
