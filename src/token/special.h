/* SPDX-License-Identifier: MIT
 * Tokens that are found in text before anything else: user-defined ones always, control tokens only when asked. */
#ifndef ST_TOKEN_SPECIAL_H
#define ST_TOKEN_SPECIAL_H

#include "token/vocab.h"

/* A node of the tree of their bytes. */
typedef struct st_special_node {
    uint32_t child, sibling; /* 0: none */
    uint32_t len;            /* bytes from the root */
    uint32_t shorter;        /* the nearest node above at which a token ends, 0: none */
    int32_t id;              /* the token that ends here, or -1 */
    unsigned char byte;
    bool plain; /* that token is found in plain text too */
} st_special_node;

typedef struct st_special {
    st_special_node *nodes; /* [n_nodes], the root first */
    uint32_t n_nodes, cap;
    uint32_t first[256]; /* the root's children, 0: none */
} st_special;

/* Collects the control, unknown and user-defined tokens. STRETTO_E_MEMORY; on failure there is nothing to free. */
int st_special_create(st_special *special, const st_vocab *vocab, stretto_error *err);
void st_special_free(st_special *special);

/* A piece of the text: a special token, or text between them (id -1). */
typedef struct st_piece {
    uint32_t start, len;
    int32_t id;
} st_piece;

/* Cuts n bytes of text (n < UINT32_MAX) into pieces, in order and without gaps; none is empty. Longer tokens are taken
 * before shorter ones wherever they stand, among equally long ones the leftmost. *pieces is owned by the caller (free)
 * and NULL when there are none. Time is linear in n times the longest special token. STRETTO_E_MEMORY. */
int st_special_split(const st_special *special, const char *text, size_t n, bool parse_special, st_piece **pieces,
                     size_t *n_pieces, stretto_error *err);

#endif
