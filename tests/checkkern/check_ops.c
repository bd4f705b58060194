/* SPDX-License-Identifier: MIT
 * Vector operations, in sizes around every vector width and from any float's alignment. */
#include "checkkern/check.h"

#include "kern/layout.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX = 700 };

/* Input with its own copy for the reference, in a guarded buffer each. */
typedef struct twin {
    guarded got, want;
    float *a, *b; /* under test, reference */
} twin;

static twin twin_new(check *c, uint32_t n) {
    twin t = {guarded_new(n * sizeof(float), 4 * random_below(c, 16)), guarded_new(n * sizeof(float), 0), 0, 0};
    t.a = t.got.data;
    t.b = t.want.data;
    random_floats(c, t.a, n);
    memcpy(t.b, t.a, n * sizeof(float));
    return t;
}

static void twin_compare(check *c, twin *t, uint32_t n, const char *what, double relative, double absolute) {
    for (uint32_t i = 0; i < n; i++)
        if (!close_enough(t->a[i], t->b[i], relative * fabs(t->b[i]) + absolute))
            check_fail(c, "%s of %u: item %u is %.9g, not %.9g", what, n, i, t->a[i], t->b[i]);
    if (!guarded_intact(&t->got)) check_fail(c, "%s of %u wrote outside", what, n);
    guarded_free(&t->got);
    guarded_free(&t->want);
    c->cases++;
}

static uint32_t some_size(check *c, uint32_t round) {
    return round < 70 ? round + 1 : 1 + random_below(c, MAX);
}

static void check_simple(check *c, uint32_t n, const float *y) {
    twin t = twin_new(c, n);
    c->kern->add(t.a, y, n);
    c->ref->add(t.b, y, n);
    twin_compare(c, &t, n, "add", 0, 0);
    t = twin_new(c, n);
    c->kern->scale(t.a, 0.37f, n);
    c->ref->scale(t.b, 0.37f, n);
    twin_compare(c, &t, n, "scale", 0, 0);
    t = twin_new(c, n);
    c->kern->rms_norm(t.a, t.a, y, n, 1e-5f);
    c->ref->rms_norm(t.b, t.b, y, n, 1e-5f);
    twin_compare(c, &t, n, "rms_norm", 4 * FLT_EPSILON, 0);
    t = twin_new(c, n);
    const guarded input = guarded_new(n * sizeof(float), 4 * random_below(c, 16));
    memcpy(input.data, t.a, n * sizeof(float));
    c->kern->rms_norm(t.a, input.data, NULL, n, 1e-6f);
    c->ref->rms_norm(t.b, input.data, NULL, n, 1e-6f);
    twin_compare(c, &t, n, "rms_norm without weight", 4 * FLT_EPSILON, 0);
    guarded_free(&(guarded){.memory = input.memory});
}

static void check_dot(check *c, uint32_t n, const float *y) {
    twin t = twin_new(c, n);
    double magnitude = 0;
    for (uint32_t i = 0; i < n; i++) magnitude += fabs((double)t.a[i] * y[i]);
    const float got = c->kern->dot(t.a, y, n), want = c->ref->dot(t.b, y, n);
    if (!close_enough(got, want, magnitude * (n + 2) * FLT_EPSILON / 2))
        check_fail(c, "dot of %u: %.9g, not %.9g", n, got, want);
    twin_compare(c, &t, n, "dot", 0, 0);
}

/* Values from the whole range where the functions bend, and where exp ends. */
static float bend(check *c) {
    static const float special[] = {0,    -0.0f, 1e-30f, -1e-30f, 88,     -88,     104,
                                    -104, 1000,  -1000,  1e30f,   -1e30f, INFINITY};
    const uint32_t pick = random_below(c, 60);
    return pick < sizeof(special) / sizeof(special[0]) ? special[pick] : random_float(c) * (pick < 40 ? 3.0f : 20.0f);
}

static void check_gate(check *c, uint32_t n, const float *up) {
    for (int act = ST_SILU; act <= ST_GELU_TANH; act++) {
        twin t = twin_new(c, n);
        for (uint32_t i = 0; i < n; i++) t.a[i] = t.b[i] = bend(c);
        c->kern->gate((enum st_activation)act, t.a, up, n);
        c->ref->gate((enum st_activation)act, t.b, up, n);
        twin_compare(c, &t, n, act == ST_SILU ? "silu" : "gelu", 8 * FLT_EPSILON,
                     act == ST_SILU ? 1e-30 : 1e-7); /* the tail of gelu: e^z with a rounded z */
    }
    twin t = twin_new(c, n);
    for (uint32_t i = 0; i < n; i++) t.a[i] = t.b[i] = 30 * bend(c);
    c->kern->softcap(t.a, n, 30);
    c->ref->softcap(t.b, n, 30);
    twin_compare(c, &t, n, "softcap", 4 * FLT_EPSILON, 1e-30);
}

static void check_rope(check *c, uint32_t half, uint32_t pairs, bool neox) {
    float turn[2 * MAX];
    for (uint32_t i = 0; i < pairs; i++) {
        const double angle = 6.28 * st_rng_unit(&c->rng);
        turn[2 * i] = (float)cos(angle);
        turn[2 * i + 1] = (float)sin(angle);
    }
    twin t = twin_new(c, 2 * half);
    c->kern->rope(t.a, turn, pairs, 2 * half, neox);
    c->ref->rope(t.b, turn, pairs, 2 * half, neox);
    twin_compare(c, &t, 2 * half, neox ? "rope (neox)" : "rope", 0, 8 * FLT_EPSILON);
}

static void check_argmax(check *c, uint32_t n) {
    twin t = twin_new(c, n);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t got = c->kern->argmax(t.a, n), want = c->ref->argmax(t.a, n);
        if (got != want) check_fail(c, "argmax of %u: %u, not %u", n, got, want);
        if (i == 0) t.a[random_below(c, n)] = t.a[got]; /* twice the largest: the first counts */
        if (i == 1) t.a[random_below(c, n)] = NAN;
        if (i == 2)
            for (uint32_t k = 0; k < n; k++) t.a[k] = random_below(c, 2) ? NAN : -INFINITY;
    }
    memcpy(t.b, t.a, n * sizeof(float));
    twin_compare(c, &t, n, "argmax", 0, 0);
}

static void check_quantize(check *c, uint32_t tokens, uint32_t cols) {
    const size_t stride = cols + random_below(c, 3), bytes = st_panel_bytes(tokens, cols);
    guarded got = guarded_new(bytes, 0), want = guarded_new(bytes, 0);
    guarded x = guarded_new(tokens * stride * sizeof(float), 4 * random_below(c, 16));
    random_floats(c, x.data, tokens * stride);
    for (uint32_t i = 0; i < 40; i++)
        ((float *)x.data)[random_below(c, (uint32_t)(tokens * stride))] = 1e-40f * (float)i;
    if (cols > 32) memset(x.data, 0, 32 * sizeof(float));
    st_panel panel = {.n = tokens, .cols = cols, .x = x.data, .stride = stride, .quant = got.data};
    const uint32_t blocks = st_panel_blocks(&panel), cut = random_below(c, blocks + 1);
    c->kern->quantize(&panel, cut, blocks);
    c->kern->quantize(&panel, 0, cut);
    panel.quant = want.data;
    c->ref->quantize(&panel, 0, blocks);
    if (memcmp(got.data, want.data, bytes) != 0 || !guarded_intact(&got))
        check_fail(c, "quantize of %u tokens, %u columns differs", tokens, cols);
    ((float *)x.data)[random_below(c, cols)] = random_below(c, 2) ? NAN : INFINITY;
    panel.quant = got.data;
    c->kern->quantize(&panel, 0, blocks);
    float sum = 0;
    for (uint32_t b = 0; 32 * b < cols; b++)
        sum += st_qblock_d(panel.quant + (size_t)b * tokens * ST_QBLOCK_BYTES, tokens)[0];
    if (isfinite(sum)) check_fail(c, "quantize of %u columns hides what is not a number", cols);
    guarded_free(&got);
    guarded_free(&want);
    guarded_free(&x);
    c->cases++;
}

void check_ops(check *c) {
    float y[MAX + 1];
    for (uint32_t round = 0; round < 120; round++) {
        const uint32_t n = some_size(c, round);
        float *from = y + round % 2;
        random_floats(c, from, n);
        check_simple(c, n, from);
        check_dot(c, n, from);
        check_gate(c, n, from);
        check_argmax(c, n);
        check_rope(c, n, 1 + random_below(c, n), round % 2);
        check_rope(c, n, n, round % 3 == 0);
        check_quantize(c, 1 + random_below(c, ST_PANEL), n);
    }
}
