/* SPDX-License-Identifier: MIT
 * What stretto inspect found out, and its two forms. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "chunk/chunk.h"
#include "session.h"

#include <jansson.h>

#define TYPES_MAX 64

typedef struct type_total {
    uint32_t type;
    const char *name;
    uint64_t count, elements, bytes;
} type_total;

typedef struct inspection {
    session s;
    type_total types[TYPES_MAX];
    size_t n_types;
    bool metadata, tensors; /* shown in full */
    char unsupported[500];  /* why there are no chunks, "" when there are */
    enum st_kv_type kv_type;
    st_chunk chunks[ST_MAX_CHUNKS]; /* [s.n_chunks] */
    struct {
        uint32_t n_owned; /* layers */
        uint64_t bytes_per_position;
    } kv[ST_MAX_CHUNKS];
} inspection;

json_t *inspect_json(const inspection *in);
void inspect_print(cli *cx, const inspection *in);

#endif
