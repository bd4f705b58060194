/* SPDX-License-Identifier: MIT
 * Reading and arithmetic for their own sake: that all of it is really done. */
#include "checkkern/check.h"

static void check_stream(check *c, uint32_t lines, enum st_stream_order order) {
    guarded data = guarded_new((size_t)lines * 64, 0);
    uint8_t *bytes = data.data;
    for (size_t i = 0; i < data.bytes; i++) bytes[i] = (uint8_t)random_below(c, 256);
    const uint64_t got = c->kern->stream(bytes, data.bytes, order),
                   want = c->ref->stream(bytes, data.bytes, ST_STREAM_ONE);
    if (got != want)
        check_fail(c, "stream of %u lines: %llx, not %llx", lines, (unsigned long long)got, (unsigned long long)want);
    bytes[random_below(c, (uint32_t)data.bytes)] ^= 0x40;
    if (c->kern->stream(bytes, data.bytes, order) == want) check_fail(c, "stream of %u lines leaves bytes out", lines);
    guarded_free(&data);
    c->cases++;
}

static void check_burn(check *c, enum st_burn what, uint32_t rounds) {
    const uint32_t got = c->kern->burn[what](rounds);
    if (got != rounds * ST_BURN_ROUND)
        check_fail(c, "burn %d of %u rounds: %u multiply-adds, not %u", (int)what, rounds, got, rounds * ST_BURN_ROUND);
    c->cases++;
}

void check_peak(check *c) {
    for (int order = 0; order < ST_STREAM_ORDERS; order++) {
        for (uint32_t lines = 1; lines <= 20; lines++) check_stream(c, lines, (enum st_stream_order)order);
        check_stream(c, 1000, (enum st_stream_order)order);
    }
    for (enum st_burn what = 0; what < ST_BURNS; what++)
        for (uint32_t rounds = 0; rounds < 5; rounds++) check_burn(c, what, rounds * rounds * 50);
}
