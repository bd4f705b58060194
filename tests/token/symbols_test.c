/* SPDX-License-Identifier: MIT
 * Joining symbols: against doing it by the definition, looking at every pair each time. */
#include "token/symbols.h"

#include "base/rng.h"
#include "token/toy.h"

#define MOST 60
#define KINDS 3 /* of starting symbols; joined ones get further numbers up to IDS */
#define IDS 40

/* What two ids become and when, made at random. Keys repeat, as scores do. */
typedef struct rules {
    st_pair pairs[IDS][IDS];
} rules;

static void rules_make(rules *r, st_rng *rng) {
    for (int a = 0; a < IDS; a++)
        for (int b = 0; b < IDS; b++) {
            bool joins = st_rng_below(rng, 3) > 0 && (a < b ? b : a) + 1 < IDS;
            int above = (a < b ? b : a) + 1; /* ids grow, so that joining ends */
            r->pairs[a][b] = joins ? (st_pair){(uint32_t)st_rng_below(rng, 30),
                                               above + (int)st_rng_below(rng, (uint64_t)(IDS - above))}
                                   : (st_pair){ST_NO_PAIR, -1};
        }
}

static st_pair rules_pair(const void *arg, const char *text, const st_symbol *left, const st_symbol *right) {
    (void)text;
    const rules *r = arg;
    return r->pairs[left->id][right->id];
}

/* By the definition: the smallest key, then the leftmost, until nothing joins. */
static size_t join_plainly(const rules *r, int32_t *ids, size_t n) {
    for (;;) {
        size_t best = n;
        uint32_t key = ST_NO_PAIR;
        for (size_t i = 0; i + 1 < n; i++) {
            uint32_t here = r->pairs[ids[i]][ids[i + 1]].key;
            if (here < key) {
                key = here;
                best = i;
            }
        }
        if (best == n) return n;
        ids[best] = r->pairs[ids[best]][ids[best + 1]].id;
        memmove(&ids[best + 1], &ids[best + 2], (n - best - 2) * sizeof *ids);
        n--;
    }
}

static void joins_as_defined(void **state) {
    (void)state;
    static rules r;
    st_rng rng;
    st_symbols symbols = {0};
    stretto_error err = {0};
    st_rng_seed(&rng, 11);
    for (int round = 0; round < 3000; round++) {
        if (round % 20 == 0) rules_make(&r, &rng);
        size_t n = st_rng_below(&rng, MOST), left = 0;
        int32_t ids[MOST] = {0};
        assert_int_equal(st_symbols_begin(&symbols, n, &err), 0);
        for (size_t i = 0; i < n; i++) {
            ids[i] = (int32_t)st_rng_below(&rng, KINDS);
            st_symbols_add(&symbols, (uint32_t)i, 1, ids[i]);
        }
        st_symbols_join(&symbols, "", rules_pair, &r);
        size_t wanted = join_plainly(&r, ids, n);
        for (size_t i = 0; i < symbols.n; i++) {
            if (symbols.data[i].len == 0) continue;
            assert_true(left < wanted);
            assert_int_equal(symbols.data[i].id, ids[left++]);
        }
        assert_int_equal(left, wanted);
    }
    st_symbols_free(&symbols);
}

static void lengths_cover_the_text(void **state) {
    (void)state;
    static rules r;
    st_rng rng;
    st_symbols symbols = {0};
    stretto_error err = {0};
    st_rng_seed(&rng, 12);
    rules_make(&r, &rng);
    assert_int_equal(st_symbols_begin(&symbols, 1000, &err), 0);
    for (uint32_t i = 0; i < 1000; i++) st_symbols_add(&symbols, 2 * i, 2, (int32_t)st_rng_below(&rng, KINDS));
    st_symbols_join(&symbols, "", rules_pair, &r);
    uint32_t end = 0;
    for (size_t i = 0; i < symbols.n; i++) {
        if (symbols.data[i].len == 0) continue;
        assert_int_equal(symbols.data[i].start, end);
        end += symbols.data[i].len;
    }
    assert_int_equal(end, 2000);
    st_symbols_free(&symbols);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_as_defined),
        cmocka_unit_test(lengths_cover_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
