/* SPDX-License-Identifier: MIT */
#include "inspect.h"

#include "json_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_ITEMS 8 /* of an array, in the metadata list */

static st_str architecture(const st_gguf *gguf) {
    st_str name = {"", 0};
    st_gguf_str(gguf, "general.architecture", false, &name, NULL);
    return name;
}

/* ---- JSON ---- */

static json_t *dims_json(const st_tensor *t) {
    json_t *dims = json_array();
    for (uint32_t d = 0; d < t->n_dims; d++) st_json_append(&dims, json_integer((json_int_t)t->dims[d]));
    return dims;
}

static json_t *tensors_json(const st_gguf *gguf) {
    json_t *list = json_array();
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const st_tensor *t = &gguf->tensors[i];
        const st_type_info *info = st_type_find(t->type);
        st_json_append(&list, json_pack("{s:o, s:s, s:o, s:I, s:I}", "name", cli_json_text(t->name.data, t->name.len),
                                        "type", info ? info->name : "unknown", "dims", dims_json(t), "offset",
                                        (json_int_t)t->offset, "bytes", (json_int_t)t->bytes));
    }
    return list;
}

static bool is_float(uint32_t type) {
    return type == ST_V_F32 || type == ST_V_F64;
}

static json_t *item_json(const st_value *v, uint32_t type, uint64_t i) {
    if (type == ST_V_BOOL) return json_boolean(st_value_int(v, i) != 0);
    if (is_float(type)) return st_json_real(st_value_float(v, i));
    int64_t number = st_value_int(v, i);
    if (type == ST_V_U64 && number < 0) return st_json_real(st_value_float(v, i)); /* beyond JSON's integers here */
    return json_integer(number);
}

static json_t *value_json(const st_value *v) {
    if (v->type == ST_V_STRING) return cli_json_text((const char *)v->data, v->bytes);
    if (v->type != ST_V_ARRAY) return item_json(v, v->type, 0);
    json_t *first = json_array();
    size_t cursor = 0;
    for (uint64_t i = 0; i < v->count && i < SHOWN_ITEMS && v->item_type != ST_V_ARRAY; i++) {
        if (v->item_type == ST_V_STRING) {
            st_str s = st_value_next_string(v, &cursor);
            st_json_append(&first, cli_json_text(s.data, s.len));
        } else {
            st_json_append(&first, item_json(v, v->item_type, i));
        }
    }
    return json_pack("{s:s, s:I, s:o}", "items", st_value_type_name(v->item_type), "count", (json_int_t)v->count,
                     "first", first);
}

static json_t *metadata_json(const st_gguf *gguf) {
    json_t *all = json_object();
    for (size_t i = 0; i < gguf->n_values; i++) {
        const st_value *v = &gguf->values[i];
        json_t *text = cli_json_text(v->key.data, v->key.len); /* a key need not be UTF-8 */
        const char *name = json_string_value(text);
        st_json_set(&all, name ? name : "?", value_json(v));
        json_decref(text);
    }
    return all;
}

static json_t *types_json(const inspection *in) {
    json_t *list = json_array();
    for (size_t i = 0; i < in->n_types; i++) {
        const type_total *t = &in->types[i];
        st_json_append(&list, json_pack("{s:s, s:I, s:I, s:I}", "type", t->name, "tensors", (json_int_t)t->count,
                                        "elements", (json_int_t)t->elements, "bytes", (json_int_t)t->bytes));
    }
    return list;
}

static json_t *kv_json(const inspection *in, uint32_t i) {
    const st_chunk *c = &in->chunks[i];
    json_t *owned = json_array(), *borrowed = json_array();
    for (uint32_t l = c->span.first; l <= c->span.last; l++) {
        if (c->model->layers[l].kv_layer == l) st_json_append(&owned, json_integer(l));
    }
    for (uint32_t b = 0; b < c->n_borrowed; b++) st_json_append(&borrowed, json_integer(c->borrowed[b]));
    return json_pack("{s:o, s:o, s:I}", "owned", owned, "borrowed", borrowed, "bytes_per_position",
                     (json_int_t)in->kv[i].bytes_per_position);
}

/* The boundary on one side of a chunk, as the names of what passes. */
static json_t *boundary_json(const st_chunk *c, bool inputs) {
    json_t *list = json_array();
    if (inputs)
        st_json_append(&list, json_string(c->embeds ? "ids" : "hidden"));
    else
        st_json_append(&list, json_string(c->head ? "logits" : "hidden"));
    if (c->model->d_ple && (inputs ? !c->embeds : !c->head)) st_json_append(&list, json_string("per_layer_inputs"));
    const uint32_t *kv = inputs ? c->borrowed : c->lent;
    for (uint32_t i = 0; i < (inputs ? c->n_borrowed : c->n_lent); i++)
        st_json_append(&list, json_sprintf("kv%u", kv[i]));
    return list;
}

static json_t *chunks_json(const inspection *in) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < in->s.n_chunks; i++) {
        const st_chunk *c = &in->chunks[i];
        st_json_append(&list,
                       json_pack("{s:s, s:[i, i], s:b, s:I, s:I, s:o, s:o, s:o}", "name", c->name, "layers",
                                 (int)c->span.first, (int)c->span.last, "head", (int)c->head, "bytes",
                                 (json_int_t)c->bytes, "operations", (json_int_t)c->operations, "inputs",
                                 boundary_json(c, true), "outputs", boundary_json(c, false), "kv", kv_json(in, i)));
    }
    return list;
}

static json_t *layers_json(const st_model *m) {
    json_t *list = json_array();
    for (uint32_t l = 0; l < m->n_layers; l++) {
        const st_layer *layer = &m->layers[l];
        st_json_append(&list,
                       json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "heads", (int)layer->n_heads, "kv_heads",
                                 (int)layer->n_kv_heads, "head_dim", (int)layer->head_dim, "ff", (int)layer->n_ff,
                                 "window", (int)layer->window, "kv_layer", (int)layer->kv_layer));
    }
    return list;
}

static json_t *shapes_json(const st_model *m) {
    return json_pack("{s:i, s:i, s:i, s:I, s:b, s:o}", "layers", (int)m->n_layers, "d_model", (int)m->d_model,
                     "vocabulary", (int)m->n_vocab, "context", (json_int_t)m->n_ctx_train, "tied_head", (int)m->tied,
                     "per_layer", layers_json(m));
}

json_t *inspect_json(const inspection *in) {
    const session *s = &in->s;
    const st_gguf *g = s->gguf;
    st_str arch = architecture(g);
    bool known = !in->unsupported[0];
    json_t *file = json_pack("{s:o, s:I, s:i, s:i, s:I, s:I}", "path", st_json_text(s->path), "bytes",
                             (json_int_t)g->size, "version", (int)g->version, "alignment", (int)g->alignment, "tensors",
                             (json_int_t)g->n_tensors, "metadata", (json_int_t)g->n_values);
    json_t *root =
        json_pack("{s:o, s:o, s:b, s:o, s:o}", "file", file, "architecture", cli_json_text(arch.data, arch.len),
                  "supported", (int)known, "types", types_json(in), "chunks", known ? chunks_json(in) : json_array());
    if (known) {
        st_json_set(&root, "name", st_json_text(s->model->name));
        st_json_set(&root, "shapes", shapes_json(s->model));
    } else {
        st_json_set(&root, "reason", st_json_text(in->unsupported));
    }
    if (in->metadata) st_json_set(&root, "metadata", metadata_json(g));
    if (in->tensors) st_json_set(&root, "tensors", tensors_json(g));
    return root;
}

/* ---- text ---- */

static void print_layers(cli *cx, const st_model *m) {
    for (uint32_t l = 0; l < m->n_layers;) {
        const st_layer *a = &m->layers[l];
        uint32_t last = l;
        while (last + 1 < m->n_layers) {
            const st_layer *b = &m->layers[last + 1];
            bool alike = a->n_heads == b->n_heads && a->n_kv_heads == b->n_kv_heads && a->head_dim == b->head_dim &&
                         a->n_ff == b->n_ff && a->window == b->window &&
                         (a->kv_layer == l) == (b->kv_layer == last + 1);
            if (!alike) break;
            last++;
        }
        cli_printf(cx, last > l ? "  layers %u-%u: " : "  layer %u: ", l, last);
        cli_printf(cx, "%u head%s, %u KV head%s, of %u; FFN %u", a->n_heads, a->n_heads == 1 ? "" : "s", a->n_kv_heads,
                   a->n_kv_heads == 1 ? "" : "s", a->head_dim, a->n_ff);
        if (a->window) cli_printf(cx, "; window %u", a->window);
        if (a->kv_layer != l) cli_printf(cx, "; KV of layer %u", a->kv_layer);
        cli_printf(cx, "\n");
        l = last + 1;
    }
}

static void print_types(cli *cx, const inspection *in) {
    cli_printf(cx, "\n  type      tensors        elements          MB\n");
    for (size_t i = 0; i < in->n_types; i++) {
        const type_total *t = &in->types[i];
        cli_printf(cx, "  %-8s %8" PRIu64 " %15" PRIu64 " %11.2f\n", t->name, t->count, t->elements,
                   (double)t->bytes / 1e6);
    }
}

static void print_chunks(cli *cx, const inspection *in) {
    cli_printf(cx, "\n  chunk    layers          MB a step   M operations   KV bytes a position\n");
    for (uint32_t i = 0; i < in->s.n_chunks; i++) {
        const st_chunk *c = &in->chunks[i];
        char layers[48];
        cli_span_text(layers, sizeof layers, &c->span, c->head);
        cli_printf(cx, "  %-8s %-12s %12.2f %14.2f   %" PRIu64, c->name, layers, (double)c->bytes / 1e6,
                   (double)c->operations / 1e6, in->kv[i].bytes_per_position);
        for (uint32_t b = 0; b < c->n_borrowed; b++) cli_printf(cx, "%s kv%u", b ? "," : ", borrows", c->borrowed[b]);
        cli_printf(cx, "\n");
    }
}

static void print_names(cli *cx, json_t *names) {
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) cli_printf(cx, "%s%s", i ? ", " : "", json_string_value(name));
    json_decref(names);
}

static void print_boundaries(cli *cx, const inspection *in) {
    const st_model *m = in->chunks[0].model;
    cli_printf(cx, "\n  boundaries: hidden is [tokens, %u] f32", m->d_model);
    if (m->d_ple) cli_printf(cx, ", per_layer_inputs [tokens, %u, %u] f32", m->n_layers, m->d_ple);
    cli_printf(cx, "\n");
    for (uint32_t i = 0; i < in->s.n_chunks; i++) {
        cli_printf(cx, "  chunk %-3s ", in->chunks[i].name);
        print_names(cx, boundary_json(&in->chunks[i], true));
        cli_printf(cx, " -> ");
        print_names(cx, boundary_json(&in->chunks[i], false));
        cli_printf(cx, "\n");
    }
}

static void print_metadata(cli *cx, const st_gguf *g) {
    cli_printf(cx, "\nmetadata\n");
    for (size_t i = 0; i < g->n_values; i++) {
        json_t *value = value_json(&g->values[i]);
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(7));
        cli_printf(cx, "  ");
        cli_name(cx, g->values[i].key.data, g->values[i].key.len);
        cli_printf(cx, " = %s\n", text ? text : "?");
        free(text);
        json_decref(value);
    }
}

static void print_tensors(cli *cx, const st_gguf *g) {
    cli_printf(cx, "\ntensors\n");
    for (size_t i = 0; i < g->n_tensors; i++) {
        const st_tensor *t = &g->tensors[i];
        const st_type_info *info = st_type_find(t->type);
        cli_printf(cx, "  ");
        cli_name(cx, t->name.data, t->name.len);
        cli_printf(cx, "%*s %-7s [", t->name.len < 36 ? 36 - (int)t->name.len : 1, "", info ? info->name : "unknown");
        for (uint32_t d = 0; d < t->n_dims; d++) cli_printf(cx, "%s%" PRIu64, d ? ", " : "", t->dims[d]);
        cli_printf(cx, "]  %zu bytes at %" PRIu64 "\n", t->bytes, t->offset);
    }
}

void inspect_print(cli *cx, const inspection *in) {
    const session *s = &in->s;
    const st_gguf *g = s->gguf;
    st_str arch = architecture(g);
    cli_printf(cx, "%s\n  GGUF version %u, %.2f MB, %zu tensors, %zu metadata keys\n", s->path, g->version,
               (double)g->size / 1e6, g->n_tensors, g->n_values);
    if (in->unsupported[0]) {
        cli_printf(cx, "architecture ");
        cli_name(cx, arch.data, arch.len);
        cli_printf(cx, ": cannot be run\n  ");
        cli_name(cx, in->unsupported, strlen(in->unsupported));
        cli_printf(cx, "\n");
    } else {
        const st_model *m = s->model;
        cli_name(cx, m->name, strlen(m->name));
        cli_printf(cx, ", architecture %s\n  %u layer%s of width %u, vocabulary %u, context %u\n  head %s\n",
                   st_model_arch_name(m), m->n_layers, m->n_layers == 1 ? "" : "s", m->d_model, m->n_vocab,
                   m->n_ctx_train, m->tied ? "tied to the embedding" : "of its own");
        print_layers(cx, m);
    }
    print_types(cx, in);
    if (!in->unsupported[0]) {
        print_chunks(cx, in);
        print_boundaries(cx, in);
    }
    if (in->metadata) print_metadata(cx, g);
    if (in->tensors) print_tensors(cx, g);
}
