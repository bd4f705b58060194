/* SPDX-License-Identifier: MIT
 * One tokenizer, many threads at once. */
#include "token/toy.h"

#include <pthread.h>

#define N_THREADS 4

static const char text[] =
    "The rain began at 12:30 <bos> and <|im_end|> it's 7,890 \n\n\n years \xe4\xbd\xa0\xe5\xa5\xbd \xff";

typedef struct job {
    const st_tokenizer *tok;
    st_ids ids[2];
    st_buf back;
    int code;
} job;

static void *job_run(void *arg) {
    job *j = arg;
    for (int i = 0; i < 200 && !j->code; i++) {
        stretto_error err = {0};
        j->ids[0].len = j->ids[1].len = j->back.len = 0;
        j->code = st_tokenizer_encode(j->tok, text, sizeof text - 1, false, true, &j->ids[0], &err);
        if (!j->code) j->code = st_tokenizer_encode(j->tok, text, sizeof text - 1, true, false, &j->ids[1], &err);
        for (size_t k = 0; !j->code && k < j->ids[0].len; k++)
            j->code = st_tokenizer_decode(j->tok, j->ids[0].data[k], true, k == 0, &j->back, &err);
    }
    return NULL;
}

static void threads_get_the_same_ids(void **state) {
    (void)state;
    static const char *const files[] = {ST_GOLDEN "/tiny-llama-F32.gguf", ST_GOLDEN "/tiny-gemma3-F32.gguf",
                                        ST_GOLDEN "/tiny-gemma4-F32.gguf"};
    for (size_t f = 0; f < LENGTH(files); f++) {
        golden g = golden_open(files[f]);
        job jobs[N_THREADS] = {0};
        pthread_t threads[N_THREADS];
        for (int i = 0; i < N_THREADS; i++) {
            jobs[i].tok = g.tok;
            assert_int_equal(pthread_create(&threads[i], NULL, job_run, &jobs[i]), 0);
        }
        for (int i = 0; i < N_THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < N_THREADS; i++) {
            assert_int_equal(jobs[i].code, 0);
            for (int k = 0; k < 2; k++) {
                assert_true(jobs[i].ids[k].len > 0);
                assert_int_equal(jobs[i].ids[k].len, jobs[0].ids[k].len);
                assert_memory_equal(jobs[i].ids[k].data, jobs[0].ids[k].data, jobs[0].ids[k].len * sizeof(int32_t));
            }
            assert_int_equal(jobs[i].back.len, jobs[0].back.len);
        }
        for (int i = 0; i < N_THREADS; i++) {
            st_ids_free(&jobs[i].ids[0]);
            st_ids_free(&jobs[i].ids[1]);
            st_buf_free(&jobs[i].back);
        }
        golden_close(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_get_the_same_ids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
