/* SPDX-License-Identifier: MIT
 * Conversions between float and its two 16-bit relatives: IEEE 754 binary16 (5 exponent bits, 10 of mantissa) and
 * bfloat16 (the upper half of a float). */
#include "gguf/types.h"

#include <string.h>

static uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

float st_half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24, exact in a float */
        float value = (float)mantissa * 0x1p-24f;
        return float_of_bits(sign | float_bits(value));
    }
    if (exponent == 31) return float_of_bits(sign | 0x7f800000u | mantissa << 13); /* infinity, NaN */
    return float_of_bits(sign | (exponent + (127 - 15)) << 23 | mantissa << 13);
}

/* A magnitude below 2^-14 (a float's exponent and mantissa bits) in units of 2^-24, the spacing of subnormal halves. */
static uint32_t half_subnormal(uint32_t magnitude) {
    uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return 0; /* below 2^-25, half of the smallest unit */
    uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u, shift = 126 - exponent;
    uint32_t units = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), tie = 1u << (shift - 1);
    return units + (rest > tie || (rest == tie && (units & 1)));
}

uint16_t st_float_to_half(float f) {
    uint32_t bits = float_bits(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00);  /* NaN */
    if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00); /* 2^16 and above: infinity */
    if (magnitude < 0x38800000u) return (uint16_t)(sign | half_subnormal(magnitude));
    /* A carry out of the mantissa goes into the exponent, as it should; 65520 and above become infinity that way. */
    uint32_t rebased = magnitude - ((127u - 15u) << 23);
    return (uint16_t)(sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
}

float st_bfloat_to_float(uint16_t h) {
    return float_of_bits((uint32_t)h << 16);
}

uint16_t st_float_to_bfloat(float f) {
    uint32_t bits = float_bits(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40); /* NaN stays NaN */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
