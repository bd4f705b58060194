/* SPDX-License-Identifier: MIT
 * Finding special tokens. What is taken where tokens could overlap follows llama.cpp (tokenizer_st_partition): for each
 * token from the longest to the shortest, all its places in the text that is still free. Doing that token by token
 * costs the number of tokens times the text (6,400 times in Gemma 3), so here the places where any token starts are
 * collected in one pass, each with the longest token there, and then taken by length. */
#include "token/special.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Adds a node below parent; its number, or 0 without memory. */
static uint32_t node_add(st_special *special, uint32_t parent, unsigned char byte) {
    if (special->n_nodes == special->cap) {
        if (special->cap > UINT32_MAX / 2) return 0;
        uint32_t cap = special->cap * 2;
        st_special_node *nodes = realloc(special->nodes, cap * sizeof *nodes);
        if (!nodes) return 0;
        special->nodes = nodes;
        special->cap = cap;
    }
    uint32_t at = special->n_nodes++;
    st_special_node *above = &special->nodes[parent];
    special->nodes[at] = (st_special_node){.len = above->len + 1, .byte = byte, .id = -1};
    if (parent == 0) {
        special->first[byte] = at;
    } else {
        special->nodes[at].sibling = above->child;
        above->child = at;
    }
    return at;
}

static uint32_t node_child(const st_special *special, uint32_t parent, unsigned char byte) {
    if (parent == 0) return special->first[byte];
    uint32_t at = special->nodes[parent].child;
    while (at != 0 && special->nodes[at].byte != byte) at = special->nodes[at].sibling;
    return at;
}

static bool token_add(st_special *special, st_str text, int32_t id, bool plain) {
    uint32_t at = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        uint32_t child = node_child(special, at, byte);
        if (child == 0) child = node_add(special, at, byte);
        if (child == 0) return false;
        at = child;
    }
    st_special_node *node = &special->nodes[at];
    if (at == 0 || node->id >= 0) return true; /* empty, or the same text with a lower id */
    node->id = id;
    node->plain = plain;
    return true;
}

/* Parents have lower numbers than their children, so one pass fills `shorter` from the top. */
static void shorter_fill(st_special *special) {
    for (uint32_t at = 0; at < special->n_nodes; at++) {
        const st_special_node *node = &special->nodes[at];
        uint32_t shorter = node->id >= 0 ? at : node->shorter;
        for (uint32_t child = node->child; child != 0; child = special->nodes[child].sibling)
            special->nodes[child].shorter = shorter;
    }
}

int st_special_create(st_special *special, const st_vocab *vocab, stretto_error *err) {
    *special = (st_special){.cap = 256, .n_nodes = 1};
    special->nodes = malloc(special->cap * sizeof *special->nodes);
    bool ok = special->nodes != NULL;
    if (ok) special->nodes[0] = (st_special_node){.id = -1};
    for (uint32_t i = 0; ok && i < vocab->n; i++) {
        uint8_t type = vocab->type[i];
        if (type != ST_TOKEN_CONTROL && type != ST_TOKEN_UNKNOWN && type != ST_TOKEN_USER) continue;
        ok = token_add(special, st_vocab_text(vocab, (int32_t)i), (int32_t)i, type == ST_TOKEN_USER);
    }
    if (!ok) {
        st_special_free(special);
        return st_fail_memory(err, "the special tokens", special->cap * sizeof *special->nodes);
    }
    shorter_fill(special);
    return 0;
}

void st_special_free(st_special *special) {
    free(special->nodes);
    *special = (st_special){0};
}

/* A place where special tokens start. */
typedef struct place {
    uint32_t start;
    uint32_t node; /* the longest token there that was not tried yet; once taken, that token */
} place;

typedef struct search {
    const st_special *special;
    const char *text;
    size_t n;
    bool parse_special;
    place *places; /* [n_places] by start */
    size_t n_places, cap;
    uint64_t *taken; /* a bit for each byte of the text */
} search;

/* The node itself or the nearest one above whose token may be found here, 0 when there is none. */
static uint32_t node_allowed(const search *s, uint32_t at) {
    const st_special_node *nodes = s->special->nodes;
    if (nodes[at].id < 0) at = nodes[at].shorter;
    while (at != 0 && !s->parse_special && !nodes[at].plain) at = nodes[at].shorter;
    return at;
}

static uint32_t node_next(const search *s, uint32_t at) {
    uint32_t shorter = s->special->nodes[at].shorter;
    return shorter == 0 ? 0 : node_allowed(s, shorter);
}

static uint32_t longest_at(const search *s, size_t start) {
    uint32_t at = s->special->first[(unsigned char)s->text[start]], deepest = at;
    for (size_t i = start + 1; at != 0 && i < s->n; i++) {
        at = node_child(s->special, at, (unsigned char)s->text[i]);
        if (at != 0) deepest = at;
    }
    return deepest == 0 ? 0 : node_allowed(s, deepest);
}

static int places_find(search *s, stretto_error *err) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->special->first[(unsigned char)s->text[i]] == 0) continue;
        uint32_t node = longest_at(s, i);
        if (node == 0) continue;
        if (s->n_places == s->cap) {
            size_t cap = s->cap == 0 ? 64 : s->cap * 2;
            place *places = realloc(s->places, cap * sizeof *places);
            if (!places) return st_fail_memory(err, "special tokens in the text", cap * sizeof *places);
            s->places = places;
            s->cap = cap;
        }
        s->places[s->n_places++] = (place){(uint32_t)i, node};
    }
    return 0;
}

static bool is_taken(const search *s, size_t i) {
    return s->taken[i / 64] >> (i % 64) & 1;
}

/* What was taken before is at least as long, so a place that overlaps with it does so at one of its ends. */
static bool place_take(search *s, place *p) {
    size_t end = (size_t)p->start + s->special->nodes[p->node].len;
    if (is_taken(s, p->start) || is_taken(s, end - 1)) return false;
    for (size_t i = p->start; i < end; i++) s->taken[i / 64] |= (uint64_t)1 << (i % 64);
    return true;
}

/* Takes all places by length. `open` lists those that still have something to try. */
static void places_take(search *s, uint32_t *open) {
    const st_special_node *nodes = s->special->nodes;
    size_t n_open = s->n_places;
    for (size_t i = 0; i < n_open; i++) open[i] = (uint32_t)i;
    while (n_open > 0) {
        uint32_t len = 0;
        for (size_t i = 0; i < n_open; i++)
            if (nodes[s->places[open[i]].node].len > len) len = nodes[s->places[open[i]].node].len;
        size_t n_left = 0;
        for (size_t i = 0; i < n_open; i++) {
            place *p = &s->places[open[i]];
            if (nodes[p->node].len == len) {
                if (place_take(s, p)) continue;
                p->node = is_taken(s, p->start) ? 0 : node_next(s, p->node);
                if (p->node == 0) continue;
            }
            open[n_left++] = open[i];
        }
        n_open = n_left;
    }
}

static void piece_add(st_piece *pieces, size_t *n_pieces, size_t start, size_t end, int32_t id) {
    if (end > start) pieces[(*n_pieces)++] = (st_piece){(uint32_t)start, (uint32_t)(end - start), id};
}

/* Turns what was taken, and the text between, into pieces. */
static int pieces_make(const search *s, st_piece **pieces, size_t *n_pieces, stretto_error *err) {
    size_t n_taken = 0, end = 0;
    for (size_t i = 0; i < s->n_places; i++) n_taken += s->places[i].node != 0;
    *pieces = malloc((2 * n_taken + 1) * sizeof **pieces);
    if (!*pieces) return st_fail_memory(err, "the pieces of the text", (2 * n_taken + 1) * sizeof **pieces);
    for (size_t i = 0; i < s->n_places; i++) {
        const place *p = &s->places[i];
        if (p->node == 0) continue;
        const st_special_node *node = &s->special->nodes[p->node];
        piece_add(*pieces, n_pieces, end, p->start, -1);
        end = (size_t)p->start + node->len;
        piece_add(*pieces, n_pieces, p->start, end, node->id);
    }
    piece_add(*pieces, n_pieces, end, s->n, -1);
    return 0;
}

int st_special_split(const st_special *special, const char *text, size_t n, bool parse_special, st_piece **pieces,
                     size_t *n_pieces, stretto_error *err) {
    search s = {.special = special, .text = text, .n = n, .parse_special = parse_special};
    *pieces = NULL;
    *n_pieces = 0;
    if (n == 0) return 0;
    int code = places_find(&s, err);
    if (!code && s.n_places > 0) {
        uint32_t *open = malloc(s.n_places * sizeof *open);
        s.taken = calloc(n / 64 + 1, sizeof *s.taken);
        if (open && s.taken)
            places_take(&s, open);
        else
            code = st_fail_memory(err, "special tokens in the text", s.n_places * sizeof *open + n / 8);
        free(open);
        free(s.taken);
    }
    if (!code) code = pieces_make(&s, pieces, n_pieces, err);
    free(s.places);
    return code;
}
