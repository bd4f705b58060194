/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/error.h"
#include "base/mem.h"
#include "inspect.h"
#include "json_out.h"

#include <string.h>

typedef struct inspect_options {
    session_options session;
    bool metadata, tensors, json;
} inspect_options;

static const char *type_name(uint32_t type) {
    const st_type_info *info = st_type_find(type);
    return info ? info->name : "unknown";
}

/* Rows of tensors of one type, in order of first appearance. */
static size_t count_types(const st_gguf *gguf, type_total *totals) {
    size_t n = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const st_tensor *t = &gguf->tensors[i];
        size_t at = 0;
        while (at < n && totals[at].type != t->type) at++;
        if (at == TYPES_MAX) continue;
        if (at == n) totals[n++] = (type_total){.type = t->type, .name = type_name(t->type)};
        totals[at].count++;
        totals[at].bytes += t->bytes;
        totals[at].elements += t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
    }
    return n;
}

static void describe_kv(inspection *in, uint32_t i) {
    const st_chunk *chunk = &in->chunks[i];
    const st_model *m = chunk->model;
    for (uint32_t l = chunk->span.first; l <= chunk->span.last; l++) {
        const st_layer *layer = &m->layers[l];
        if (layer->kv_layer != l) continue;
        in->kv[i].n_owned++;
        in->kv[i].bytes_per_position += 2ull * layer->n_kv_heads * layer->head_dim * st_kv_item_bytes(in->kv_type);
    }
}

static int inspect(cli *cx, inspection *in, const inspect_options *o, stretto_error *err) {
    session *s = &in->s;
    int rc = session_open_file(s, cx, &o->session, err);
    if (rc) return rc;
    in->n_types = count_types(s->gguf, in->types);
    in->metadata = o->metadata;
    in->tensors = o->tensors;
    in->kv_type = o->session.kv_type && strcmp(o->session.kv_type, "f32") == 0 ? ST_KV_F32 : ST_KV_F16;
    stretto_error reason = {0};
    rc = session_open_shapes(s, &reason);
    if (rc == STRETTO_E_INPUT) { /* what is in the file can be shown all the same */
        snprintf(in->unsupported, sizeof in->unsupported, "%s", reason.text);
        return STRETTO_OK;
    }
    if (rc) return st_fail(err, rc, "%s", reason.text);
    rc = st_split_parse(s->spans, &s->n_chunks, o->session.chunks, s->model, err);
    if (rc) return rc;
    st_chunks_describe(in->chunks, s->spans, s->n_chunks, s->model);
    for (uint32_t i = 0; i < s->n_chunks; i++) describe_kv(in, i);
    return STRETTO_OK;
}

static int inspect_run(cli *cx, const void *options, stretto_error *err) {
    const inspect_options *o = options;
    inspection *in = st_alloc(1, sizeof *in); /* too large for a stack */
    if (!in) return st_fail_memory(err, "what is in the model", sizeof *in);
    int rc = inspect(cx, in, o, err);
    if (!rc && o->json) rc = cli_json_print(cx, inspect_json(in), NULL, err);
    if (!rc && !o->json) inspect_print(cx, in);
    session_close(&in->s);
    st_free(in);
    return rc;
}

/* A table is read by its rows. */
/* clang-format off */
#define AT(field) offsetof(inspect_options, field)
static const cli_option inspect_table[] = {
    SESSION_MODEL(inspect_options),
    SESSION_CHUNKS(inspect_options),
    {.name = "kv-type", .kind = CLI_CHOICE, .at = SESSION_FIELD(inspect_options, kv_type), .value = "TYPE",
     .choices = "f16|f32",
     .preset = "f16", .help = "number type of the key/value cache: f16 or f32"},
    {.name = "metadata", .kind = CLI_FLAG, .at = AT(metadata), .help = "also all metadata keys"},
    {.name = "tensors", .kind = CLI_FLAG, .at = AT(tensors), .help = "also all tensors"},
    {.name = "json", .kind = CLI_FLAG, .at = AT(json), .help = "print JSON"},
    {0},
};
static const cli_option inspect_operands[] = {
    {.name = "MODEL", .kind = CLI_MODEL, .at = SESSION_FIELD(inspect_options, model)}, {0}};
static const char *const inspect_usages[] = {"MODEL [--chunks CHUNKS] [--metadata] [--tensors] [--json]", NULL};
static const cli_example inspect_examples[] = {
    {"stretto inspect smollm2", "shapes, types, chunks, the bytes and operations of each"},
    {"stretto inspect model.gguf --tensors --json", "everything, for a program"},
    {0},
};

const cli_command cmd_inspect = {
    .name = "inspect",
    .summary = "what is in a model file, and how it splits into chunks",
    .usages = inspect_usages,
    .about = "Shows the file's architecture, shapes and tensor types, and for each chunk its layers, the bytes of "
             "weights that a decode step reads, its multiply-adds, and the KV it owns and borrows. A file of an "
             "architecture that Stretto does not run is shown as far as it can be.",
    .options = inspect_table,
    .operands = inspect_operands,
    .examples = inspect_examples,
    .options_size = sizeof(inspect_options),
    .run = inspect_run,
};
