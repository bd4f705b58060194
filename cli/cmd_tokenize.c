/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "input.h"
#include "json_out.h"
#include "session.h"

typedef struct tokenize_options {
    session_options session;
    const char *prompt, *file;
    bool special, bos, pieces, json;
} tokenize_options;

static int print_pieces(cli *cx, const st_tokenizer *tok, const st_ids *ids, stretto_error *err) {
    for (size_t i = 0; i < ids->len; i++) {
        st_buf bytes = {0};
        int rc = st_tokenizer_decode(tok, ids->data[i], true, false, &bytes, err);
        if (!rc) {
            cli_printf(cx, "%6d  ", ids->data[i]);
            cli_quoted(cx, bytes.data, bytes.len);
            cli_printf(cx, "\n");
        }
        st_buf_free(&bytes);
        if (rc) return rc;
    }
    return STRETTO_OK;
}

static int print_json(cli *cx, const st_tokenizer *tok, const st_ids *ids, stretto_error *err) {
    json_t *pieces = json_array();
    for (size_t i = 0; i < ids->len; i++) {
        st_str piece = st_tokenizer_piece(tok, ids->data[i]);
        st_json_append(&pieces, cli_json_text(piece.data, piece.len));
    }
    json_t *root = json_pack("{s:o, s:o}", "ids", cli_json_ids(ids->data, ids->len), "pieces", pieces);
    return cli_json_print(cx, root, NULL, err);
}

static int print_ids(cli *cx, const st_ids *ids) {
    for (size_t i = 0; i < ids->len; i++) cli_printf(cx, "%s%d", i ? " " : "", ids->data[i]);
    cli_printf(cx, "\n");
    return STRETTO_OK;
}

static int tokenize(cli *cx, session *s, const tokenize_options *o, stretto_error *err) {
    st_buf text = {0};
    st_ids ids = {0};
    int rc = session_open_file(s, cx, &o->session, err);
    if (!rc) rc = cli_read_text(cx, o->prompt, o->file, &text, err);
    if (!rc) rc = session_open_tokenizer(s, err);
    bool bos = o->bos && !rc && st_tokenizer_adds_bos(s->tok);
    if (!rc) rc = session_encode(s, &text, o->special, bos, &ids, err);
    if (!rc) {
        rc = o->json     ? print_json(cx, s->tok, &ids, err)
             : o->pieces ? print_pieces(cx, s->tok, &ids, err)
                         : print_ids(cx, &ids);
    }
    st_ids_free(&ids);
    st_buf_free(&text);
    return rc;
}

static int tokenize_run(cli *cx, const void *options, stretto_error *err) {
    session s = {0};
    int rc = tokenize(cx, &s, options, err);
    session_close(&s);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(tokenize_options, field)
static const cli_option tokenize_table[] = {
    SESSION_MODEL(tokenize_options),
    {.name = "prompt", .letter = 'p', .kind = CLI_TEXT, .at = AT(prompt), .value = "TEXT", .help = "the text"},
    {.name = "file", .letter = 'f', .kind = CLI_FILE, .at = AT(file), .value = "FILE",
     .help = "a file with the text, byte for byte; - is standard input"},
    {.name = "special", .kind = CLI_FLAG, .at = AT(special),
     .help = "read special tokens in the text as such, not as text"},
    {.name = "bos", .kind = CLI_FLAG, .at = AT(bos), .help = "put in front what the model wants there"},
    {.name = "pieces", .kind = CLI_FLAG, .at = AT(pieces),
     .help = "one token a line, with the bytes that it stands for"},
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print JSON: ids and pieces"},
    {0},
};
static const char *const tokenize_usages[] = {
    "-m MODEL (-p TEXT | -f FILE) [--special] [--bos] [--pieces | --json]", NULL};
static const cli_example tokenize_examples[] = {
    {"stretto tokenize -m smollm2 -p \"Hello, world\"", "the ids, on one line"},
    {"printf 'a\\r\\n' | stretto tokenize -m smollm2 --pieces", "which bytes each token holds"},
    {0},
};

const cli_command cmd_tokenize = {
    .name = "tokenize",
    .summary = "text to token ids",
    .usages = tokenize_usages,
    .about = "Prints the token ids of a text, separated by spaces. Needs only the tokenizer in the file, not a "
             "known architecture. The text may hold any bytes. Special tokens in it, such as <|im_end|>, are plain "
             "text unless --special is given.",
    .options = tokenize_table,
    .examples = tokenize_examples,
    .options_size = sizeof(tokenize_options),
    .run = tokenize_run,
};
