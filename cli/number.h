/* SPDX-License-Identifier: MIT
 * Numbers as people type them: decimal digits. The C library's readers also take leading spaces, plus signs,
 * hexadecimal, "inf" and "nan", none of which anybody means. */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Digits at *text, which moves behind them; what is too large becomes UINT64_MAX. False, and nothing is moved, where
 * there is no digit. */
bool cli_number_whole(const char **text, uint64_t *value);

/* A decimal number at *text, as in 2, -0.5, .5 or 1e-3; *text moves behind it. What is too large becomes infinite.
 * False, and nothing is moved, where there is none. */
bool cli_number_real(const char **text, double *value);

#endif
