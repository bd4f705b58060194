/* SPDX-License-Identifier: MIT */
#include "json_out.h"

#include "base/error.h"

#include <string.h>

/* JSON has an escape for NUL, but a string that ends at one does not come through: the parts between are joined by
 * hand. */
json_t *cli_json_text(const char *bytes, size_t n) {
    st_buf whole = {0};
    bool failed = false;
    for (size_t at = 0; at < n && !failed;) {
        size_t len = strnlen(bytes + at, n - at);
        st_buf part = {0};
        st_buf_add(&part, bytes + at, len);
        json_t *text = len == 0 || part.failed ? NULL : st_json_text(part.data);
        if (text) st_buf_add(&whole, json_string_value(text), json_string_length(text));
        failed = len > 0 && !text;
        json_decref(text);
        st_buf_free(&part);
        at += len;
        if (at < n) st_buf_add(&whole, "", 1), at++;
    }
    json_t *value = failed || whole.failed ? NULL : json_stringn(whole.len ? whole.data : "", whole.len);
    st_buf_free(&whole);
    return value;
}

json_t *cli_json_ids(const int32_t *ids, size_t n) {
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) st_json_append(&array, json_integer(ids[i]));
    return array;
}

st_origin cli_origin(const cli *cx, const st_host *host) {
    return (st_origin){
        .version = STRETTO_VERSION, .host = host, .argc = cx->argc, .argv = cx->argv, .when = cx->started};
}

int cli_json_print(cli *cx, json_t *object, const st_host *host, stretto_error *err) {
    st_origin origin = cli_origin(cx, host);
    st_buf text = {0};
    st_json_origin(&object, &origin);
    st_json_write(&text, object, true);
    int rc = text.failed ? st_fail(err, STRETTO_E_MEMORY, "out of memory while making JSON") : STRETTO_OK;
    if (!rc) cli_write(cx, text.data, text.len);
    st_buf_free(&text);
    return rc;
}

json_t *cli_json_session(const session *s) {
    json_t *chunks = json_array();
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        st_unit_info info;
        st_unit_info_get(s->unit_of[i], &info);
        st_json_append(&chunks,
                       json_pack("{s:i, s:[i, i], s:s, s:i}", "chunk", (int)i + 1, "layers", (int)s->spans[i].first,
                                 (int)s->spans[i].last, "unit", info.name, "threads", (int)info.n_threads));
    }
    json_t *model =
        json_pack("{s:o, s:o, s:s, s:s, s:o}", "file", st_json_text(s->path), "name", st_json_text(s->model->name),
                  "architecture", st_model_arch_name(s->model), "kernels", s->kern->name, "placement", chunks);
    if (s->chain) st_json_set(&model, "kv_bytes", st_json_count(st_chain_kv_bytes(s->chain)));
    return model;
}
