/* SPDX-License-Identifier: MIT
 * Refusing a file's tokenizer. */
#ifndef ST_TOKEN_REFUSE_H
#define ST_TOKEN_REFUSE_H

#include "base/error.h"
#include "gguf/gguf.h"

/* STRETTO_E_INPUT with the file's name in front of the reason. */
int st_token_refuse(const st_gguf *gguf, stretto_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
