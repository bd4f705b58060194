/* SPDX-License-Identifier: MIT */
#include "chunk/product.h"

#include "base/deal.h"

st_panel st_rows_panel(const st_rows *rows, uint32_t panel) {
    uint32_t first = panel * ST_PANEL, n = rows->n - first < ST_PANEL ? rows->n - first : ST_PANEL;
    return (st_panel){.n = n,
                      .cols = rows->cols,
                      .x = rows->x + first * rows->stride,
                      .stride = rows->stride,
                      .quant = rows->quant + panel * st_panel_bytes(ST_PANEL, rows->cols)};
}

/* Strips lo..hi-1 of a product. */
typedef struct strip_range {
    const st_product *product;
    uint32_t lo, hi;
} strip_range;

/* Pieces of matrices that are alike, one behind the other: `strips` of them, of which `apart` and that many times more
 * are read at once. An item of the job is such a turn; a last one has the strips that are left. Without turns an item
 * is a strip. */
typedef struct strip_group {
    uint32_t first; /* piece */
    uint32_t strips, a_turn, apart, items;
} strip_group;

/* A worker's part of all products. */
typedef struct own_part {
    strip_range pieces[ST_PRODUCTS_MAX];
    strip_group groups[ST_PRODUCTS_MAX];
    uint32_t n_pieces, n_groups, items;
} own_part;

typedef struct product_job {
    const st_kern *kern;
    const st_rows *rows;
    const st_product *products;
    uint32_t n_products, align;
} product_job;

static strip_range piece_of(const st_product *product, uint32_t align, unsigned id, unsigned count) {
    const st_worker worker = {.id = id, .count = count};
    uint32_t strips = st_matrix_strips(product->matrix);
    strip_range p = {.product = product};
    st_worker_range(&worker, (strips + align - 1) / align, &p.lo, &p.hi);
    p.lo *= align;
    p.hi = p.hi * align < strips ? p.hi * align : strips;
    return p;
}

static const st_matrix *matrix_of(const own_part *part, const strip_group *g) {
    return part->pieces[g->first].product->matrix;
}

static bool alike(const st_matrix *a, const st_matrix *b) {
    return a->format == b->format && a->cols == b->cols;
}

static void add_piece(own_part *part, strip_range piece) {
    strip_group *g = &part->groups[part->n_groups];
    if (part->n_groups > 0 && alike(matrix_of(part, g - 1), piece.product->matrix))
        g--;
    else
        *g = (strip_group){.first = part->n_pieces}, part->n_groups++;
    g->strips += piece.hi - piece.lo;
    part->pieces[part->n_pieces++] = piece;
}

static own_part part_of(const product_job *job, unsigned id, unsigned count) {
    own_part part = {.n_pieces = 0};
    for (uint32_t i = 0; i < job->n_products; i++) {
        strip_range piece = piece_of(&job->products[i], job->align, id, count);
        if (piece.lo < piece.hi) add_piece(&part, piece);
    }
    for (uint32_t i = 0; i < part.n_groups; i++) {
        strip_group *g = &part.groups[i];
        const uint32_t type = matrix_of(&part, g)->format->type;
        g->a_turn = job->rows->n <= job->kern->turn_tokens[type] ? job->kern->turn_strips : 1;
        g->apart = g->strips / g->a_turn;
        g->items = g->apart + (g->strips % g->a_turn > 0);
        part.items += g->items;
    }
    return part;
}

/* Strips lo..hi-1 of one product, with all panels; a strip stays in the first-level cache while they pass by. */
static void run_strips(const product_job *job, const st_product *product, uint32_t lo, uint32_t hi) {
    const st_matrix *m = product->matrix;
    uint32_t panels = st_rows_panels(job->rows);
    if (panels == 1) {
        st_panel panel = st_rows_panel(job->rows, 0);
        job->kern->matmul[m->format->type](m, &panel, lo, hi, product->y, product->ldy);
        return;
    }
    for (uint32_t strip = lo; strip < hi; strip++)
        for (uint32_t p = 0; p < panels; p++) {
            st_panel panel = st_rows_panel(job->rows, p);
            job->kern->matmul[m->format->type](m, &panel, strip, strip + 1,
                                               product->y + (size_t)p * ST_PANEL * product->ldy, product->ldy);
        }
}

/* Strips lo..hi-1 of a group, in order. */
static void run_in_order(const product_job *job, const own_part *part, const strip_group *g, uint32_t lo, uint32_t hi) {
    const strip_range *p = &part->pieces[g->first];
    for (uint32_t first = 0; first < hi; first += p->hi - p->lo, p++) {
        uint32_t end = first + p->hi - p->lo, from = lo > first ? lo : first, to = hi < end ? hi : end;
        if (from < to) run_strips(job, p->product, p->lo + from - first, p->lo + to - first);
    }
}

/* One strip of a group: what is read and written. Returns how many strips of its piece come from there on. */
static uint32_t find_strip(const own_part *part, const strip_group *g, uint32_t strip, st_turn_strip *found) {
    const strip_range *p = &part->pieces[g->first];
    for (; strip >= p->hi - p->lo; p++) strip -= p->hi - p->lo;
    strip += p->lo;
    *found = (st_turn_strip){.data = p->product->matrix->data + strip * p->product->matrix->strip_bytes,
                             .y = p->product->y + (size_t)strip * ST_STRIP,
                             .ldy = p->product->ldy};
    return p->hi - strip;
}

/* As many of turns lo..hi-1 as none of their streams passes from a piece to the next one in; returns the next turn. */
static uint32_t run_some_turns(const product_job *job, const own_part *part, const strip_group *g, uint32_t lo,
                               uint32_t hi) {
    const st_matrix *m = matrix_of(part, g);
    const st_panel panel = st_rows_panel(job->rows, 0);
    const bool rest = lo == g->apart;
    const uint32_t n = rest ? g->strips % g->a_turn : g->a_turn;
    st_turn_strip strips[ST_TURN_MAX];
    uint32_t turns = rest ? 1 : (hi < g->apart ? hi : g->apart) - lo;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t most = find_strip(part, g, rest ? lo * g->a_turn + i : lo + i * g->apart, &strips[i]);
        if (most < turns) turns = most;
    }
    job->kern->turn[m->format->type](m, &panel, strips, n, turns);
    return lo + turns;
}

/* Items lo..hi-1 of a part. */
static void run_items(const product_job *job, const own_part *part, uint32_t lo, uint32_t hi) {
    for (uint32_t i = 0, first = 0; i < part->n_groups && first < hi; first += part->groups[i++].items) {
        const strip_group *g = &part->groups[i];
        uint32_t from = lo > first ? lo - first : 0, to = hi - first < g->items ? hi - first : g->items;
        if (from >= to) continue;
        if (g->a_turn > 1)
            while (from < to) from = run_some_turns(job, part, g, from, to);
        else
            run_in_order(job, part, g, from, to);
    }
}

static void take_items(const product_job *job, const st_worker *worker, unsigned whose, const own_part *part) {
    uint32_t lo, hi;
    while (st_deal_take(worker, whose, part->items, &lo, &hi)) run_items(job, part, lo, hi);
}

static void deal(const product_job *job, const st_worker *worker) {
    const own_part own = part_of(job, worker->id, worker->count);
    st_deal_begin(worker, own.items);
    take_items(job, worker, worker->id, &own);
    for (unsigned i = 1; i < worker->count; i++) {
        const unsigned whose = (worker->id + i) % worker->count;
        if (!st_deal_left(worker, whose)) continue;
        const own_part part = part_of(job, whose, worker->count);
        take_items(job, worker, whose, &part);
    }
}

void st_products_run(const st_kern *kern, const st_rows *rows, const st_product *products, uint32_t n_products,
                     uint32_t align, const st_worker *worker) {
    const product_job job = {kern, rows, products, n_products, align};
    if (worker->hands) {
        deal(&job, worker);
        return;
    }
    const own_part part = part_of(&job, worker->id, worker->count);
    run_items(&job, &part, 0, part.items);
}

st_ahead st_products_ahead(const st_product *products, uint32_t n_products, uint32_t align, const st_worker *worker) {
    for (uint32_t i = 0; i < n_products; i++) {
        const st_matrix *m = products[i].matrix;
        strip_range mine = piece_of(&products[i], align, worker->id, worker->count);
        if (mine.lo < mine.hi)
            return (st_ahead){m->data + mine.lo * m->strip_bytes, (mine.hi - mine.lo) * m->strip_bytes};
    }
    return (st_ahead){NULL, 0};
}
