/* SPDX-License-Identifier: MIT
 * Where the planner's calls read: what a token of a prompt costs grows with those before it, so a call must stand for
 * the mean of all such calls of a prompt, whatever was read before it. */
#include "plan_rig.h"

#include "chunk/split.h"
#include "support/fixture.h"

enum st_kv_type session_kv_type(const session *s) {
    (void)s;
    return ST_KV_F16;
}

static void check_read(plan_rig *rig, plan_texts *texts, uint32_t tokens) {
    stretto_error err;
    fixture_check(plan_rig_read(rig, texts, tokens, &err), &err);
    assert_int_equal(st_pass_rows(rig->pass), tokens);
    for (uint32_t i = 0; tokens > 0; i++) {
        uint32_t own = tokens < texts->span ? tokens : texts->span, end = texts->readers[i]->n_past;
        assert_true(i < texts->n_readers);
        assert_in_range(2 * end - own, 2 * texts->from + texts->span - 1, 2 * texts->from + texts->span);
        tokens -= own;
    }
}

/* A rig of a small model in two chunks on one core. */
typedef struct bench {
    fixture f;
    atomic_bool stop;
    cli cx;
    session s;
    plan_rig rig;
} bench;

/* On a machine of so much memory; 0: unknown. */
static void bench_open(bench *b, uint64_t memory) {
    stretto_error err;
    memset(b, 0, sizeof *b);
    atomic_init(&b->stop, false);
    fixture_open(&b->f, ST_GOLDEN "/tiny-llama-F32.gguf", NULL);
    b->cx.stop = &b->stop;
    b->s = (session){.cx = &b->cx, .model = b->f.model, .lanes.host.memory_bytes = memory};
    fixture_check(st_split_parse(b->s.spans, &b->s.n_chunks, "2", b->f.model, &err), &err);
    fixture_check(plan_rig_open(&b->rig, &b->s, fixture_unit(&b->f, 0, 1), 8, &err), &err);
}

static void bench_close(bench *b) {
    plan_rig_close(&b->rig);
    fixture_close(&b->f);
}

static void check(const st_workload *workload, uint32_t readers) {
    static const uint32_t calls[] = {16, 1000, 64, 16, 16, 32, 1000, 16, 64, 1, 100, 32};
    stretto_error err;
    bench b;
    plan_texts texts;
    bench_open(&b, 0);
    fixture_check(plan_texts_open(&texts, &b.rig, workload, &err), &err);
    assert_int_equal(texts.n_readers, readers);
    assert_int_equal(2 * texts.from + texts.span, workload->prompt); /* the middle */
    assert_int_equal(b.rig.ended_ns, 0);                             /* no call was run, however long contexts are */
    assert_int_equal(texts.decoders[0]->n_past, workload->prompt + workload->generate / 2);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        uint32_t most = plan_texts_prompt(&texts);
        check_read(&b.rig, &texts, calls[i] < most ? calls[i] : most);
    }
    plan_texts_close(&texts);
    bench_close(&b);
}

static void prompts_are_read_around_their_middle(void **state) {
    (void)state;
    check(&(st_workload){1, 512, 4}, 1);
    check(&(st_workload){4, 512, 4}, 1);
    check(&(st_workload){1, 96, 4}, 1);
    check(&(st_workload){4, 96, 4}, 3); /* which share calls */
    check(&(st_workload){1, 2, 1}, 1);
    check(&(st_workload){1, 100000, 4}, 1);
}

/* Opens the texts of a workload on a machine of so much memory. */
static int texts_of(uint64_t memory, const st_workload *workload, plan_texts *counts, stretto_error *err) {
    bench b;
    plan_texts texts;
    bench_open(&b, memory);
    int rc = plan_texts_open(&texts, &b.rig, workload, err);
    *counts = texts;
    plan_texts_close(&texts);
    bench_close(&b);
    return rc;
}

static void contexts_beyond_the_memory_are_refused(void **state) {
    (void)state;
    stretto_error err;
    plan_texts texts;
    assert_int_equal(texts_of(1000000, &(st_workload){1, 100000, 4}, &texts, &err), STRETTO_E_MEMORY);
    assert_non_null(strstr(err.text, "contexts of"));
}

/* A machine that has room for a half of what eight streams take measures with fewer. */
static void there_are_as_many_streams_as_fit(void **state) {
    (void)state;
    const st_workload workload = {8, 2000, 4};
    stretto_error err;
    plan_texts all, some;
    fixture_check(texts_of(0, &workload, &all, &err), &err);
    assert_int_equal(all.n_decoders, 8);
    uint64_t weights = 2000000; /* more than tiny-llama has */
    fixture_check(texts_of(all.bytes + weights, &workload, &some, &err), &err);
    assert_int_equal(some.n_readers, 1);
    assert_in_range(some.n_decoders, 1, 7);
    assert_true(2 * some.bytes <= all.bytes + weights);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(prompts_are_read_around_their_middle),
                                       cmocka_unit_test(contexts_beyond_the_memory_are_refused),
                                       cmocka_unit_test(there_are_as_many_streams_as_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
