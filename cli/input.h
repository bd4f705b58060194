/* SPDX-License-Identifier: MIT
 * Reading what people hand in: text and token ids, from files or standard input. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "base/buf.h"
#include "cli.h"
#include "token/token.h"

/* What a message calls a file: "-" is standard input. */
const char *cli_shown_path(const char *path);

/* Appends the bytes of the file to out, as they are. path "-" is standard input. STRETTO_E_IO names the file;
 * STRETTO_E_USAGE for an empty name; STRETTO_E_STOPPED when interrupted while waiting; STRETTO_E_INPUT above 1 GiB,
 * which is no prompt. */
int cli_read_file(const cli *cx, const char *path, st_buf *out, stretto_error *err);
/* The same with another limit, in whole MiB. */
int cli_read_at_most(const cli *cx, const char *path, size_t most, st_buf *out, stretto_error *err);

/* The text to work on: that of -p, else of the file, else of standard input when it is not a terminal. STRETTO_E_USAGE
 * when there is none, or both. */
int cli_read_text(const cli *cx, const char *text, const char *path, st_buf *out, stretto_error *err);

/* Token ids from a file: numbers apart by white space or commas, in brackets if need be. STRETTO_E_INPUT with the line
 * when there is something else, an id that is not below n_vocab, or nothing. */
int cli_read_ids(const cli *cx, const char *path, uint32_t n_vocab, st_ids *ids, stretto_error *err);

#endif
