/* SPDX-License-Identifier: MIT */
#include "run/generate.h"

#include "base/clock.h"
#include "base/error.h"

#define BATCH_DEFAULT 256

const char *st_finish_name(enum st_finish finish) {
    switch (finish) {
    case ST_FINISH_LENGTH:
        return "length";
    case ST_FINISH_END:
        return "end";
    case ST_FINISH_CONTEXT:
        return "context";
    case ST_FINISH_STOPPED:
        return "cancelled";
    case ST_FINISH_ERROR:
        return "error";
    }
    return "unknown";
}

static double rate(uint64_t n, uint64_t ns) {
    return ns ? (double)n * 1e9 / (double)ns : 0;
}

double st_generate_prefill_rate(const st_generate_result *r) {
    return rate(r->n_prompt, r->prefill_ns);
}

double st_generate_decode_rate(const st_generate_result *r) {
    return r->n_generated > 1 ? rate(r->n_generated - 1, r->decode_ns) : 0;
}

static bool cancelled(const st_generate_options *o) {
    return o->cancel && atomic_load_explicit(o->cancel, memory_order_relaxed);
}

static int stopped(st_generate_result *result, stretto_error *err) {
    result->finish = ST_FINISH_STOPPED;
    return st_fail(err, STRETTO_E_STOPPED, "stopped after %u of the prompt's tokens and %u generated ones",
                   result->n_prompt, result->n_generated);
}

static int check_prompt(const st_chain *chain, const st_generate_options *o, stretto_error *err) {
    uint32_t used = st_chain_length(chain), ctx = st_chain_ctx(chain);
    if (o->n_prompt == 0) return st_fail(err, STRETTO_E_INPUT, "the prompt is empty: it has no tokens to go on from");
    if (o->n_prompt <= ctx - used) return STRETTO_OK;
    return st_fail(err, STRETTO_E_INPUT, "the prompt has %u tokens, but the context has room for %u%s: %u too many",
                   o->n_prompt, ctx - used, used ? " more" : "", o->n_prompt - (ctx - used));
}

static int read_prompt(st_chain *chain, const st_generate_options *o, st_generate_result *result, stretto_error *err) {
    uint32_t batch = o->n_batch ? o->n_batch : BATCH_DEFAULT;
    uint64_t start = st_now_ns();
    while (result->n_prompt < o->n_prompt) {
        if (cancelled(o)) return stopped(result, err);
        uint32_t left = o->n_prompt - result->n_prompt;
        uint32_t n = left < batch ? left : batch;
        enum st_want want = n == left ? ST_WANT_LAST : ST_WANT_NONE;
        int rc = st_chain_forward(chain, o->prompt + result->n_prompt, n, want, NULL, NULL, err);
        if (rc) return rc;
        result->n_prompt += n;
        result->prefill_ns = st_now_ns() - start;
        if (o->on_read && result->n_prompt < o->n_prompt) o->on_read(o->arg, result->n_prompt);
    }
    if (o->sampler) {
        for (uint32_t i = 0; i < o->n_prompt; i++) st_sampler_accept(o->sampler, o->prompt[i]);
    }
    return STRETTO_OK;
}

/* Of the ids as they come. */
typedef struct decoding {
    const st_generate_options *o;
    st_generate_result *result;
    uint64_t handed, first; /* when the prompt was, and when the first id came */
    bool ended;             /* result says how */
} decoding;

static bool by_argmax(const st_generate_options *o) {
    return !o->sampler || st_sampler_is_argmax(o->sampler);
}

static int32_t pick_id(void *arg, const float *logits, int32_t argmax) {
    st_sampler *sampler = arg;
    (void)argmax;
    int32_t id = st_sampler_pick(sampler, logits);
    st_sampler_accept(sampler, id);
    return id;
}

static void end_with(decoding *d, enum st_finish finish) {
    d->ended = true;
    d->result->finish = finish;
}

static int take_id(void *arg, int32_t id) {
    decoding *d = arg;
    const st_generate_options *o = d->o;
    uint64_t now = st_now_ns();
    if (d->result->n_generated++ == 0) {
        d->first = now;
        d->result->first_token_ns = now - d->handed;
    }
    d->result->decode_ns = now - d->first;
    int enough = o->on_id ? o->on_id(o->arg, id) : 0;
    if (o->tok && st_tokenizer_is_end(o->tok, id))
        end_with(d, ST_FINISH_END);
    else if (enough || cancelled(o))
        end_with(d, ST_FINISH_STOPPED);
    return d->ended;
}

static int generate_ids(st_chain *chain, decoding *d, stretto_error *err) {
    const st_generate_options *o = d->o;
    if (o->n_max == 0) return STRETTO_OK;
    int32_t id = by_argmax(o) ? st_chain_argmax(chain) : pick_id(o->sampler, st_chain_logits(chain), 0);
    uint32_t most = o->n_max - 1, room = st_chain_ctx(chain) - st_chain_length(chain);
    st_decoding steps = {.first = id,
                         .n = most < room ? most : room,
                         .pick = by_argmax(o) ? NULL : pick_id,
                         .pick_arg = o->sampler,
                         .on_id = take_id,
                         .arg = d};
    int rc = take_id(d, id) || steps.n == 0 ? STRETTO_OK : st_chain_decode(chain, &steps, err);
    if (!rc && !d->ended && most > room) d->result->finish = ST_FINISH_CONTEXT;
    return rc;
}

int st_generate(st_chain *chain, const st_generate_options *o, st_generate_result *result, stretto_error *err) {
    *result = (st_generate_result){.finish = ST_FINISH_STOPPED};
    decoding d = {.o = o, .result = result, .handed = o->handed_ns ? o->handed_ns : st_now_ns()};
    int rc = check_prompt(chain, o, err);
    if (!rc) rc = read_prompt(chain, o, result, err);
    if (!rc) {
        result->finish = ST_FINISH_LENGTH;
        rc = generate_ids(chain, &d, err);
    }
    if (rc) result->finish = rc == STRETTO_E_STOPPED ? ST_FINISH_STOPPED : ST_FINISH_ERROR;
    return !rc && result->finish == ST_FINISH_STOPPED ? stopped(result, err) : rc;
}
