/* SPDX-License-Identifier: MIT */
#ifndef STRETTO_ERROR_H
#define STRETTO_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Every function that can fail returns one of these: 0 or a negative code. */
enum stretto_code {
    STRETTO_OK = 0,
    STRETTO_E_USAGE = -1,    /* the caller asked for something that makes no sense (no such chunk, bad option) */
    STRETTO_E_INPUT = -2,    /* a file, prompt or job was refused: malformed, truncated or unsupported */
    STRETTO_E_MEMORY = -3,   /* memory could not be had */
    STRETTO_E_IO = -4,       /* the system refused to open, read, write or map something */
    STRETTO_E_UNIT = -5,     /* a compute unit failed or is not there */
    STRETTO_E_STOPPED = -6,  /* stopped on request (Ctrl-C, cancel); what was finished is kept */
    STRETTO_E_INTERNAL = -7, /* a promise inside the library was broken: a bug */
};

/* A code and a sentence that names the thing that was wrong (file, key, tensor, offset, expected, found).
 * Owned by the caller, who may put it on the stack; never holds pointers. text is always terminated. Every function
 * takes NULL from a caller who wants no more than the code. */
typedef struct stretto_error {
    int code;
    char text[500];
} stretto_error;

#ifdef __cplusplus
}
#endif
#endif
