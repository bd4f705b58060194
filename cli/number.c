/* SPDX-License-Identifier: MIT */
#include "number.h"

#include <stdlib.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *text) {
    while (is_digit(*text)) text++;
    return text;
}

bool cli_number_whole(const char **text, uint64_t *value) {
    if (!is_digit(**text)) return false;
    uint64_t sum = 0;
    for (; is_digit(**text); (*text)++) {
        uint64_t digit = (uint64_t)(**text - '0');
        sum = sum > (UINT64_MAX - digit) / 10 ? UINT64_MAX : 10 * sum + digit;
    }
    *value = sum;
    return true;
}

/* Behind the number, or NULL where there is none. */
static const char *number_end(const char *text) {
    if (*text == '-') text++;
    const char *whole = skip_digits(text), *end = whole;
    if (*end == '.') end = skip_digits(end + 1);
    if (whole == text && end <= whole + 1) return NULL; /* no digit on either side of the point */
    if (*end == 'x' || *end == 'X') return NULL;        /* strtod would read on */
    if (*end != 'e' && *end != 'E') return end;
    const char *power = end + 1;
    if (*power == '-' || *power == '+') power++;
    return is_digit(*power) ? skip_digits(power) : end;
}

bool cli_number_real(const char **text, double *value) {
    const char *end = number_end(*text);
    if (!end) return false;
    *value = strtod(*text, NULL);
    *text = end;
    return true;
}
