/* SPDX-License-Identifier: MIT
 * What a command needs of a model, opened a step at a time so that a bad argument is reported before much is loaded. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "device/chain.h"
#include "lanes.h"
#include "like.h"
#include "option.h"
#include "token/token.h"

#include <limits.h>

typedef struct session_options {
    const char *model, *like, *type, *scale; /* a model, or what it is like (cli/like.h) */
    const char *chunks, *units, *place, *kv_type;
    uint32_t threads, ctx, batch;
    const uint32_t *each_threads; /* of the units in `units`, one by one; 0: one a core. NULL: `threads` of each */
} session_options;

/* Lines of an option table, for a command whose options structure T has the member `session`. */
/* clang-format off */
#define SESSION_FIELD(T, field) (offsetof(T, session) + offsetof(session_options, field))
#define SESSION_MODEL(T) \
    {.name = "model", .letter = 'm', .kind = CLI_MODEL, .at = SESSION_FIELD(T, model), .value = "MODEL", \
     .help = "the model: a GGUF file, or a name (smollm2, gemma3-270m)"}
#define SESSION_LIKE(T) \
    LIKE_OPTION(SESSION_FIELD(T, like), "in place of a model, one with random weights at the shapes of "), \
        LIKE_DETAILS(SESSION_FIELD(T, type), SESSION_FIELD(T, scale))
#define SESSION_CHUNKS(T) \
    {.name = "chunks", .kind = CLI_TEXT, .shape = CLI_SHAPE_LIST, .at = SESSION_FIELD(T, chunks), .value = "CHUNKS", \
     .help = "how to split the layers: a number, or ranges like 0-7,8-14,15-29 (the model's own split otherwise: " \
             "four chunks, even in bytes)"}
#define SESSION_UNITS(T) \
    {.name = "units", .kind = CLI_TEXT, .at = SESSION_FIELD(T, units), .value = "UNITS", \
     .help = "sets of cores to use as units: cpu:0,cpu:1 are two of one core each, cpu:0-3 or cpu:0+2 one of several " \
             "(all cores as one unit otherwise)"}, \
        {.name = "place", .kind = CLI_TEXT, .at = SESSION_FIELD(T, place), .value = "PLACES", \
         .help = "which chunk runs on which unit, as in 1=cpu:0,3=cpu:1; the others run on the first of --units, " \
                 "without it on all cores"}
#define SESSION_PLACEMENT(T) \
    SESSION_UNITS(T), \
        {.name = "threads", .letter = 't', .kind = CLI_COUNT, .at = SESSION_FIELD(T, threads), .value = "T", \
         .least = 1, \
         .help = "threads of each unit (one a core otherwise)"}
#define SESSION_MEMORY(T) \
    {.name = "ctx", .letter = 'c', .kind = CLI_COUNT, .at = SESSION_FIELD(T, ctx), .value = "N", .least = 1, \
     .help = "positions that the context has room for, a token each (as many as are needed otherwise)"}, \
        {.name = "batch", .letter = 'b', .kind = CLI_COUNT, .at = SESSION_FIELD(T, batch), .value = "N", .least = 1, \
         .most = 4096, .help = "most tokens that pass through a chunk at once while a prompt is read (256 otherwise, 128 with run --prompts)"}, \
        {.name = "kv-type", .kind = CLI_CHOICE, .at = SESSION_FIELD(T, kv_type), .value = "TYPE", \
         .choices = "f16|f32", \
         .preset = "f16", .help = "number type of the key/value cache: f16 or f32"}
/* clang-format on */

typedef struct session {
    cli *cx;
    const session_options *options;
    char path[PATH_MAX];
    st_gguf *gguf;
    st_tokenizer *tok;
    const st_kern *kern;
    cli_lanes lanes;
    st_model *model;
    st_span spans[ST_MAX_CHUNKS];
    uint32_t n_chunks;
    st_unit *unit_of[ST_MAX_CHUNKS];
    st_chain *chain;
} session;

/* The kernels that STRETTO_CPU asks for, the best otherwise. */
int cli_kernels_select(const st_kern **kern, stretto_error *err);

/* Each fails with the file's name in the message; what was opened before stays until session_close, which also takes a
 * session that was only zeroed. A session must stay where it is. */
int session_open_file(session *s, cli *cx, const session_options *options, stretto_error *err);
int session_open_tokenizer(session *s, stretto_error *err);
/* Appends the ids of a text, see st_tokenizer_encode; warns when the vocabulary lacks some of its bytes. */
int session_encode(session *s, const st_buf *text, bool special, bool bos, st_ids *ids, stretto_error *err);
/* Kernels and units, then weights. */
int session_open_model(session *s, stretto_error *err);
/* Splits and places the chunks. all_used: warn of a unit that has no chunk. */
int session_place(session *s, bool all_used, stretto_error *err);
/* STRETTO_E_INPUT, by how much, when so many tokens do not fit into what --ctx or the model allows. */
int session_fits_ctx(const session *s, uint32_t needed, stretto_error *err);
/* Positions of a context for `needed`, and for `wanted` where the model or --ctx allow it. STRETTO_E_INPUT, by how
 * much, when what is needed does not fit. */
int session_choose_ctx(const session *s, uint32_t needed, uint32_t wanted, uint32_t *n_ctx, stretto_error *err);
enum st_kv_type session_kv_type(const session *s);
/* A chain with a context for `needed` positions, and for `wanted` where the model or --ctx allow it. max_logits: see
 * st_chain_options. Places the chunks first if need be. STRETTO_E_INPUT, by how much, when what is needed does not fit.
 */
int session_open_chain(session *s, uint32_t needed, uint32_t wanted, uint32_t max_logits, stretto_error *err);
/* Closes chain and units and opens the units again, as the options now say. */
int session_reopen_units(session *s, stretto_error *err);
void session_close(session *s);

/* "0-9", "29, head" */
void cli_span_text(char *out, size_t size, const st_span *span, bool head);

/* "SmolLM2 Q4_1, 4 chunks: 1 (0-9) 2 (10-19) 3 (20-28) 4 (29, head)"; cut when there are many. */
void session_title(const session *s, char *out, size_t size);

/* Prints two lines: the model with its split, and the machine with its kernels. */
void cli_host_line(cli *cx, const session *s);

/* Shapes only, nothing repacked: for commands that run nothing. */
int session_open_shapes(session *s, stretto_error *err);

#endif
