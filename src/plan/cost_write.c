/* SPDX-License-Identifier: MIT */
#include "plan/cost.h"

#include "json/build.h"

static json_t *chunks_json(const st_costs *costs) {
    json_t *list = json_array();
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        const st_cost_chunk *chunk = &costs->chunks[c];
        json_t *object = json_object();
        st_json_set(&object, "name", st_json_text(chunk->name));
        if (chunk->has_layers) st_json_set(&object, "layers", json_pack("[i, i]", (int)chunk->first, (int)chunk->last));
        st_json_set(&object, "weight_bytes", st_json_count(chunk->weight_bytes));
        st_json_set(&object, "kv_bytes_per_token", st_json_count(chunk->kv_bytes));
        st_json_append(&list, object);
    }
    return list;
}

static json_t *units_json(const st_costs *costs) {
    json_t *list = json_array();
    for (uint32_t u = 0; u < costs->n_units; u++) {
        const st_cost_unit *unit = &costs->units[u];
        json_t *object = json_object(), *cores = json_array();
        for (uint32_t i = 0; i < unit->n_cores; i++) st_json_append(&cores, st_json_count(unit->cores[i]));
        st_json_set(&object, "name", st_json_text(unit->name));
        st_json_set(&object, "cores", cores);
        if (unit->n_threads) st_json_set(&object, "threads", st_json_count(unit->n_threads));
        if (unit->memory != ST_COST_NONE)
            st_json_set(&object, "memory", st_json_text(costs->memories[unit->memory].name));
        st_json_set(&object, "dispatch_ns", st_json_real(unit->dispatch_ns));
        if (unit->choose_ns >= 0) st_json_set(&object, "choose_ns", st_json_real(unit->choose_ns));
        if (unit->draft_ns > 0) st_json_set(&object, "draft_ns", st_json_real(unit->draft_ns));
        if (unit->draft_read_ns > 0) st_json_set(&object, "draft_read_ns", st_json_real(unit->draft_read_ns));
        st_json_append(&list, object);
    }
    return list;
}

static json_t *memories_json(const st_costs *costs) {
    json_t *list = json_array();
    for (uint32_t m = 0; m < costs->n_memories; m++) {
        json_t *object = json_object();
        st_json_set(&object, "name", st_json_text(costs->memories[m].name));
        st_json_set(&object, "bytes", st_json_count(costs->memories[m].bytes));
        st_json_append(&list, object);
    }
    return list;
}

static json_t *curve_json(const st_cost_curve *curve) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < curve->n; i++) {
        json_t *pair = json_array();
        st_json_append(&pair, st_json_count(curve->points[i].tokens));
        st_json_append(&pair, st_json_real(curve->points[i].ns));
        st_json_append(&list, pair);
    }
    return list;
}

static json_t *costs_json(const st_costs *costs) {
    json_t *list = json_array();
    for (uint32_t c = 0; c < costs->n_chunks; c++) {
        for (uint32_t u = 0; u < costs->n_units; u++) {
            const st_cost_curve *decode = st_costs_curve(costs, c, u, ST_WORK_DECODE);
            const st_cost_curve *prefill = st_costs_curve(costs, c, u, ST_WORK_PREFILL);
            if (decode->n == 0) continue;
            json_t *object = json_object();
            st_json_set(&object, "chunk", st_json_text(costs->chunks[c].name));
            st_json_set(&object, "unit", st_json_text(costs->units[u].name));
            st_json_set(&object, "decode_ns", curve_json(decode));
            if (prefill->n) st_json_set(&object, "prefill_ns", curve_json(prefill));
            st_json_append(&list, object);
        }
    }
    return list;
}

static json_t *transfers_json(const st_costs *costs) {
    json_t *list = json_array();
    for (uint32_t x = 0; x < costs->n_units; x++) {
        for (uint32_t y = 0; y < costs->n_units; y++) {
            const st_cost_transfer *t = &costs->transfers[(size_t)x * costs->n_units + y];
            if (x == y || (t->fixed_ns == 0 && t->token_ns == 0 && t->kv_token_ns == 0)) continue;
            json_t *object = json_object();
            st_json_set(&object, "from", st_json_text(costs->units[x].name));
            st_json_set(&object, "to", st_json_text(costs->units[y].name));
            st_json_set(&object, "fixed_ns", st_json_real(t->fixed_ns));
            st_json_set(&object, "ns_per_token", st_json_real(t->token_ns));
            st_json_set(&object, "kv_ns_per_token", st_json_real(t->kv_token_ns));
            st_json_append(&list, object);
        }
    }
    return list;
}

/* One entry of the list: a and b are chunks, or ST_COST_NONE for any. */
static json_t *slowdown_json(const st_costs *costs, uint32_t x, uint32_t a, unsigned a_work, uint32_t y, uint32_t b,
                             unsigned b_work, double slowdown) {
    json_t *object = json_object();
    st_json_set(&object, "unit", st_json_text(costs->units[x].name));
    if (a != ST_COST_NONE) st_json_set(&object, "chunk", st_json_text(costs->chunks[a].name));
    st_json_set(&object, "work", st_json_text(st_work_names[a_work]));
    st_json_set(&object, "beside", st_json_text(costs->units[y].name));
    if (b != ST_COST_NONE) st_json_set(&object, "beside_chunk", st_json_text(costs->chunks[b].name));
    st_json_set(&object, "beside_work", st_json_text(st_work_names[b_work]));
    st_json_set(&object, "slowdown", st_json_real(slowdown));
    return object;
}

/* Slowdown of chunk a's work beside each chunk's other work: in one entry where it is the same beside all. */
static void add_chunk(json_t **list, const st_costs *costs, uint32_t x, uint32_t a, unsigned v, uint32_t y,
                      unsigned w) {
    const float *pairs = costs->chunk_slowdowns[(size_t)x * costs->n_units + y];
    const float *row = pairs + ((size_t)a * ST_WORKS + v) * costs->n_chunks * ST_WORKS;
    bool same = true;
    for (uint32_t b = 1; b < costs->n_chunks; b++) same = same && row[b * ST_WORKS + w] == row[w];
    for (uint32_t b = 0; b < (same ? 1 : costs->n_chunks); b++) {
        float own = row[b * ST_WORKS + w];
        if (own > 0) st_json_append(list, slowdown_json(costs, x, a, v, y, same ? ST_COST_NONE : b, w, (double)own));
    }
}

static void add_slowdowns(json_t **list, const st_costs *costs, uint32_t x, uint32_t y) {
    bool of_chunks = costs->chunk_slowdowns[(size_t)x * costs->n_units + y] != NULL;
    for (unsigned v = 0; v < ST_WORKS; v++) {
        for (unsigned w = 0; w < ST_WORKS; w++) {
            double any = *st_cost_unit_slowdown(costs, x, v, y, w);
            bool batch = v == ST_WORK_BATCH || w == ST_WORK_BATCH;
            if (batch ? any > 0 : any != 1)
                st_json_append(list, slowdown_json(costs, x, ST_COST_NONE, v, y, ST_COST_NONE, w, any));
            for (uint32_t a = 0; of_chunks && a < costs->n_chunks; a++) add_chunk(list, costs, x, a, v, y, w);
        }
    }
}

static json_t *acceptance_json(const st_costs *costs) {
    json_t *object = json_object();
    for (unsigned i = ST_DRAFT_LOOKUP; i < ST_DRAFTS; i++) {
        if (costs->acceptance[i] >= 0) st_json_set(&object, st_draft_names[i], st_json_real(costs->acceptance[i]));
    }
    return object;
}

json_t *st_costs_json(const st_costs *costs) {
    json_t *object = json_object(), *slowdowns = json_array(), *host = json_object();
    for (uint32_t x = 0; x < costs->n_units; x++) {
        for (uint32_t y = 0; y < costs->n_units; y++) {
            if (x != y) add_slowdowns(&slowdowns, costs, x, y);
        }
    }
    st_json_set(&host, "choose_ns", st_json_real(costs->host.choose_ns));
    st_json_set(&host, "text_ns", st_json_real(costs->host.text_ns));
    st_json_set(&host, "lookup_ns", st_json_real(costs->host.lookup_ns));
    st_json_set(&object, "schema", st_json_text(ST_COSTS_SCHEMA));
    if (costs->title[0]) st_json_set(&object, "title", st_json_text(costs->title));
    if (costs->measured[0]) st_json_set(&object, "measured", st_json_text(costs->measured));
    st_json_set(&object, "depth", st_json_count(costs->depth));
    st_json_set(&object, "chunks", chunks_json(costs));
    st_json_set(&object, "memories", memories_json(costs));
    st_json_set(&object, "units", units_json(costs));
    st_json_set(&object, "costs", costs_json(costs));
    st_json_set(&object, "transfers", transfers_json(costs));
    st_json_set(&object, "slowdowns", slowdowns);
    st_json_set(&object, "host", host);
    st_json_set(&object, "acceptance", acceptance_json(costs));
    return object;
}
