/* SPDX-License-Identifier: MIT */
#include "run/lookup.h"

#include "base/error.h"
#include "base/mem.h"
#include "run/worth.h"

#define GRAM_LEAST 2

/* How likely a guessed token is right before anything is measured, by length of what was found. */
static const double right_at_first[ST_LOOKUP_GRAMS] = {0.30, 0.50, 0.65};
#define ROW_COST_AT_FIRST 0.2 /* and what one more row costs of a plain step */
_Static_assert(ST_LOOKUP_GRAMS == ST_WORTH_KINDS, "each length of a gram is a kind of guess");

struct st_lookup {
    int32_t *ids; /* [n_max] the text */
    uint32_t n, n_max;
    uint32_t *last; /* [ST_LOOKUP_GRAMS][slots] position after a gram, where it stood last; 0: nowhere */
    uint32_t mask;  /* slots - 1 */
    st_worth worth; /* kinds: grams */
    uint32_t gram;  /* of the last guess */
};

int st_lookup_create(st_lookup **out, uint32_t n_max, stretto_error *err) {
    *out = NULL;
    st_lookup *l = st_alloc(1, sizeof *l);
    if (!l) return st_fail_memory(err, "the lookup", sizeof *l);
    uint32_t slots = 64;
    while (slots < n_max && slots < (1u << 30)) slots *= 2;
    l->n_max = n_max;
    l->mask = slots - 1;
    st_worth_init(&l->worth, right_at_first, ROW_COST_AT_FIRST);
    l->ids = st_alloc((size_t)n_max + 1, sizeof *l->ids);
    l->last = st_alloc((size_t)ST_LOOKUP_GRAMS * slots, sizeof *l->last);
    if (!l->ids || !l->last) {
        st_lookup_free(l);
        return st_fail_memory(err, "the lookup", (uint64_t)slots * ST_LOOKUP_GRAMS * sizeof *l->last);
    }
    st_lookup_reset(l);
    *out = l;
    return STRETTO_OK;
}

void st_lookup_free(st_lookup *l) {
    if (!l) return;
    st_free(l->ids);
    st_free(l->last);
    st_free(l);
}

void st_lookup_reset(st_lookup *l) {
    for (uint64_t i = 0; l->n > 0 && i < (uint64_t)ST_LOOKUP_GRAMS * (l->mask + 1); i++) l->last[i] = 0;
    l->n = 0;
    st_worth_reset(&l->worth, right_at_first);
}

/* The slot of the gram of kind g that ends before position `end`. */
static uint32_t *slot_of(const st_lookup *l, unsigned g, uint32_t end) {
    uint32_t hash = 2166136261u; /* FNV-1a over whole ids, then mixed */
    for (uint32_t i = end - (GRAM_LEAST + g); i < end; i++) hash = (hash ^ (uint32_t)l->ids[i]) * 16777619u;
    hash ^= hash >> 15;
    return &l->last[(size_t)g * (l->mask + 1) + (hash & l->mask)];
}

void st_lookup_add(st_lookup *l, int32_t id) {
    if (l->n == l->n_max) return;
    /* The gram before id is remembered only now that something follows it. */
    for (unsigned g = 0; g < ST_LOOKUP_GRAMS && l->n >= GRAM_LEAST + g; g++) *slot_of(l, g, l->n) = l->n;
    l->ids[l->n++] = id;
}

/* Where the text's last tokens stood before: the position after them, of the longest gram; 0: nowhere. */
static uint32_t find(const st_lookup *l, uint32_t *gram) {
    for (unsigned g = ST_LOOKUP_GRAMS; g-- > 0;) {
        uint32_t length = GRAM_LEAST + g;
        if (l->n <= length) continue;
        uint32_t at = *slot_of(l, g, l->n), same = 0;
        if (at == 0) continue;
        while (same < length && l->ids[at - 1 - same] == l->ids[l->n - 1 - same]) same++;
        if (same < length) continue; /* another gram of the same hash */
        *gram = g;
        return at;
    }
    return 0;
}

uint32_t st_lookup_guess(st_lookup *l, int32_t *guess, uint32_t most) {
    uint32_t at = most ? find(l, &l->gram) : 0;
    if (at == 0) return 0;
    uint32_t n = st_worth_length(&l->worth, l->gram, most < ST_LOOKUP_MAX ? most : ST_LOOKUP_MAX);
    for (uint32_t i = 0; i < n; i++) guess[i] = at + i < l->n ? l->ids[at + i] : guess[at + i - l->n];
    return n;
}

bool st_lookup_would(st_lookup *l, uint32_t most) {
    uint32_t gram;
    return most > 0 && find(l, &gram) > 0 && st_worth_would(&l->worth, gram, most);
}

void st_lookup_learn(st_lookup *l, uint32_t n, uint32_t right, uint64_t pass_ns) {
    if (n)
        st_worth_learn(&l->worth, l->gram, n, right, pass_ns);
    else
        st_worth_learn_plain(&l->worth, true, pass_ns);
}
