/* SPDX-License-Identifier: MIT
 * What is written is read back alike; what goes wrong leaves no file behind. */
#include "gguf/refuse.h"
#include "gguf/writer.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/stretto-writer-XXXXXX";
static char path[64], part[80];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/x.gguf", folder);
    snprintf(part, sizeof part, "%s.part", path);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static bool exists(const char *file) {
    return access(file, F_OK) == 0;
}

static st_gguf_writer *open_writer(void) {
    st_gguf_writer *w = NULL;
    stretto_error err;
    if (st_writer_open(&w, path, &err)) fail_msg("%s", err.text);
    return w;
}

/* Expects finish to fail for this reason (after the path) and nothing to be left. */
static void expect_failed(st_gguf_writer *w, int code, const char *reason) {
    stretto_error err = {0};
    char wanted[300];
    snprintf(wanted, sizeof wanted, "%s: %s", path, reason);
    assert_int_equal(st_writer_finish(w, &err), code);
    assert_string_equal(err.text, wanted);
    assert_false(exists(part));
}

static void write_values(st_gguf_writer *w) {
    static const char *const words[] = {"one", "", "a\0b"};
    static const size_t lens[] = {3, 0, 3};
    st_writer_string(w, "general.architecture", "llama", 5);
    st_writer_u32(w, "k.u32", 4000000000);
    st_writer_number(w, "k.i32", ST_V_I32, &(int32_t){-5});
    st_writer_f32(w, "k.f32", 0.1f);
    st_writer_bool(w, "k.true", true);
    st_writer_bool(w, "k.false", false);
    st_writer_number(w, "k.u64", ST_V_U64, &(uint64_t){1u << 31});
    st_writer_number(w, "k.f64", ST_V_F64, &(double){0.25});
    st_writer_strings(w, "k.words", words, lens, 3);
    st_writer_array(w, "k.scores", ST_V_F32, (float[]){1, 2.5f}, 2);
    st_writer_array(w, "k.flags", ST_V_BOOL, (uint8_t[]){1, 0, 1}, 3);
}

static void check_values(const st_gguf *g) {
    uint32_t number = 0;
    float real = 0;
    bool yes = false, no = true;
    st_str text;
    const st_value *words, *scores, *flags;
    size_t cursor = 0;
    assert_int_equal(g->n_values, 11);
    assert_int_equal(st_gguf_str(g, "general.architecture", true, &text, NULL), 0);
    assert_true(st_str_equal(text, "llama"));
    assert_int_equal(st_gguf_u32(g, "k.u32", true, &number, NULL), 0);
    assert_true(number == 4000000000);
    assert_int_equal(st_value_int(st_gguf_find(g, "k.i32"), 0), -5);
    assert_int_equal(st_gguf_f32(g, "k.f32", true, &real, NULL), 0);
    assert_true(real == 0.1f);
    assert_int_equal(st_gguf_bool(g, "k.true", true, &yes, NULL) | st_gguf_bool(g, "k.false", true, &no, NULL), 0);
    assert_true(yes && !no);
    assert_true(st_value_int(st_gguf_find(g, "k.u64"), 0) == (int64_t)1 << 31);
    assert_true(st_value_float(st_gguf_find(g, "k.f64"), 0) == 0.25);
    assert_int_equal(st_gguf_array(g, "k.words", true, ST_V_STRING, &words, NULL), 0);
    assert_true(st_str_equal(st_value_next_string(words, &cursor), "one"));
    assert_true(st_str_equal(st_value_next_string(words, &cursor), ""));
    assert_memory_equal(st_value_next_string(words, &cursor).data, "a\0b", 3);
    assert_int_equal(st_gguf_array(g, "k.scores", true, ST_V_F32, &scores, NULL), 0);
    assert_true(scores->count == 2 && st_value_float(scores, 1) == 2.5);
    assert_int_equal(st_gguf_array(g, "k.flags", true, ST_V_BOOL, &flags, NULL), 0);
    assert_true(st_value_int(flags, 0) == 1 && st_value_int(flags, 1) == 0);
}

/* Values of every kind and tensors of every type; data handed over in pieces that fit nothing. */
static void test_round_trip(void **state) {
    (void)state;
    st_gguf_writer *w = open_writer();
    uint8_t data[65536];
    size_t total = 0, wanted_at = 0;
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 131 >> 3);
    write_values(w);
    for (uint32_t type = 0; type < ST_TYPE_COUNT; type++) {
        const st_type_info *info = st_type_find(type);
        if (!info) continue;
        st_writer_tensor(w, info->name, type, (uint64_t[]){info->block_len, 3}, 2);
        total += 3 * (size_t)info->block_bytes;
    }
    assert_true(total < sizeof data);
    for (size_t at = 0, n = 1; at < total; at += n, n = n * 3 % 101 + 1) {
        if (n > total - at) n = total - at;
        st_writer_data(w, data + at, n);
    }
    assert_true(exists(part) && !exists(path));
    assert_int_equal(st_writer_finish(w, NULL), 0);
    assert_true(exists(path) && !exists(part));
    st_gguf *g;
    assert_int_equal(st_gguf_open(&g, path, NULL, NULL), 0);
    assert_int_equal(g->version, 3);
    check_values(g);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const st_tensor *t = &g->tensors[i];
        assert_true(st_str_equal(t->name, st_type_find(t->type)->name));
        assert_int_equal(t->offset % 32, 0);
        assert_memory_equal(t->data, data + wanted_at, t->bytes);
        wanted_at += t->bytes;
    }
    assert_int_equal(wanted_at, total);
    assert_int_equal(g->size % 32, 0); /* padded at the end too, as other readers want it */
    st_gguf_close(g);
    unlink(path);
}

static void test_alignment(void **state) {
    (void)state;
    st_gguf_writer *w = open_writer();
    st_gguf *g;
    st_writer_u32(w, "general.alignment", 4096);
    st_writer_tensor(w, "a", ST_F32, (uint64_t[]){1}, 1);
    st_writer_tensor(w, "b", ST_F32, (uint64_t[]){1}, 1);
    st_writer_data(w, (float[]){1, 2}, 8);
    assert_int_equal(st_writer_finish(w, NULL), 0);
    assert_int_equal(st_gguf_open(&g, path, NULL, NULL), 0);
    assert_int_equal(g->alignment, 4096);
    assert_int_equal(st_gguf_tensor(g, "b")->offset, 8192);
    assert_memory_equal(st_gguf_tensor(g, "b")->data, &(float){2}, 4);
    st_gguf_close(g);
    unlink(path);
}

static void test_larger_than_the_buffer(void **state) {
    (void)state;
    enum { N = 300000 };
    st_gguf_writer *w = open_writer();
    float *x = malloc(N * sizeof *x);
    st_gguf *g;
    assert_non_null(x);
    for (int i = 0; i < N; i++) x[i] = (float)i;
    st_writer_tensor(w, "x", ST_F32, (uint64_t[]){N}, 1);
    st_writer_data(w, x, N * sizeof *x);
    assert_int_equal(st_writer_finish(w, NULL), 0);
    assert_int_equal(st_gguf_open(&g, path, NULL, NULL), 0);
    assert_memory_equal(st_gguf_tensor(g, "x")->data, x, N * sizeof *x);
    st_gguf_close(g);
    free(x);
    unlink(path);
}

static void test_nothing_at_all(void **state) {
    (void)state;
    st_gguf *g;
    assert_int_equal(st_writer_finish(open_writer(), NULL), 0);
    assert_int_equal(st_gguf_open(&g, path, NULL, NULL), 0);
    assert_int_equal(g->n_values + g->n_tensors, 0);
    st_gguf_close(g);
    unlink(path);
}

static void test_replaces_and_aborts(void **state) {
    (void)state;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("old", f);
    fclose(f);
    st_gguf_writer *w = open_writer();
    st_writer_u32(w, "k", 1);
    st_writer_abort(w);
    st_writer_abort(NULL);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 3); /* untouched */
    assert_false(exists(part));
    assert_int_equal(st_writer_finish(open_writer(), NULL), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 32);
    unlink(path);
}

static void test_wrong_data(void **state) {
    (void)state;
    st_gguf_writer *w = open_writer();
    st_writer_tensor(w, "row", ST_F32, (uint64_t[]){4}, 1);
    st_writer_data(w, "0123456789", 10);
    expect_failed(w, STRETTO_E_USAGE, "tensor row got 10 of its 16 bytes");
    w = open_writer();
    st_writer_tensor(w, "row", ST_F32, (uint64_t[]){2}, 1);
    st_writer_data(w, "0123456789", 10);
    assert_false(st_writer_ok(w));
    expect_failed(w, STRETTO_E_USAGE, "2 bytes of data more than were declared");
    w = open_writer();
    st_writer_tensor(w, "row", ST_F32, (uint64_t[]){2}, 1);
    st_writer_data(w, "0", 1);
    st_writer_u32(w, "late", 1);
    expect_failed(w, STRETTO_E_USAGE, "key late comes after the first data");
    assert_false(exists(path));
}

static void test_wrong_declarations(void **state) {
    (void)state;
    st_gguf_writer *w = open_writer();
    st_writer_u32(w, "k", 1);
    st_writer_f32(w, "k", 1);
    expect_failed(w, STRETTO_E_USAGE, "key k is declared twice");
    w = open_writer();
    st_writer_tensor(w, "t", ST_F32, (uint64_t[]){4}, 1);
    st_writer_tensor(w, "t", ST_F32, (uint64_t[]){4}, 1);
    expect_failed(w, STRETTO_E_USAGE, "tensor t is declared twice");
    w = open_writer();
    st_writer_u32(w, "", 1);
    st_writer_u32(w, "k", 1); /* the first failure is the one reported */
    expect_failed(w, STRETTO_E_USAGE, "a key's name of 0 bytes, wanted 1 to 65535: ");
    w = open_writer();
    st_writer_tensor(w, "t", ST_Q4_0, (uint64_t[]){48}, 1);
    expect_failed(w, STRETTO_E_USAGE, "tensor t: type 2, 1 dimensions, rows of 48 elements cannot be");
    w = open_writer();
    st_writer_tensor(w, "t", 42, (uint64_t[]){32}, 1);
    expect_failed(w, STRETTO_E_USAGE, "tensor t: type 42, 1 dimensions, rows of 32 elements cannot be");
    w = open_writer();
    st_writer_tensor(w, "t", ST_F32, (uint64_t[]){1, 1, 1, 1, 1}, 5);
    expect_failed(w, STRETTO_E_USAGE, "tensor t: type 0, 5 dimensions, rows of 1 elements cannot be");
    w = open_writer();
    st_writer_tensor(w, "t", ST_F32, (uint64_t[]){1u << 31, 1u << 31}, 2);
    expect_failed(w, STRETTO_E_USAGE, "tensor t: [2,147,483,648 x 2,147,483,648] of type F32 is too much or nothing");
    w = open_writer();
    st_writer_tensor(w, "t", ST_F32, (uint64_t[]){8, 0}, 2);
    expect_failed(w, STRETTO_E_USAGE, "tensor t: [8 x 0] of type F32 is too much or nothing");
    w = open_writer();
    st_writer_u32(w, "general.alignment", 24);
    expect_failed(w, STRETTO_E_USAGE, "general.alignment is 24, wanted a power of two, 8 or more");
    w = open_writer();
    st_writer_tensor(w, "t", ST_F32, (uint64_t[]){8}, 1);
    st_writer_u32(w, "general.alignment", 64);
    expect_failed(w, STRETTO_E_USAGE, "general.alignment comes after the first tensor");
    w = open_writer();
    st_writer_array(w, "k", ST_V_STRING, NULL, 0);
    expect_failed(w, STRETTO_E_USAGE, "key k: type 8 is not a number's");
}

static void test_unwritable_path(void **state) {
    (void)state;
    st_gguf_writer *w = NULL;
    stretto_error err = {0};
    assert_int_equal(st_writer_open(&w, "/no such folder/x.gguf", &err), STRETTO_E_IO);
    assert_string_equal(err.text, "/no such folder/x.gguf: cannot make its .part file: No such file or directory");
    assert_null(w);
    char wanted[100];
    snprintf(wanted, sizeof wanted, "%s: is a folder, not a file", folder);
    assert_int_equal(st_writer_open(&w, folder, &err), STRETTO_E_IO);
    assert_string_equal(err.text, wanted);
    assert_int_equal(symlink("elsewhere", part), 0); /* somebody else's link is not followed */
    assert_int_equal(st_writer_open(&w, path, NULL), STRETTO_E_IO);
    assert_false(exists("elsewhere"));
    unlink(part);
}

/* What is no file is never replaced by one, and a link stays a link. */
static void test_special_targets(void **state) {
    (void)state;
    st_gguf_writer *w = NULL;
    stretto_error err = {0};
    struct stat info;
    assert_int_equal(st_writer_open(&w, "/dev/full", &err), STRETTO_E_IO);
    assert_string_equal(err.text, "/dev/full: is a device or pipe, not a file");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(st_writer_open(&w, path, &err), STRETTO_E_IO);
    assert_true(lstat(path, &info) == 0 && S_ISFIFO(info.st_mode));
    unlink(path);
    assert_int_equal(symlink("nowhere", path), 0);
    assert_int_equal(st_writer_open(&w, path, &err), STRETTO_E_IO);
    assert_non_null(strstr(err.text, "leads nowhere"));
    unlink(path);
    char target[200];
    snprintf(target, sizeof target, "%s/target", folder);
    fclose(fopen(target, "w"));
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(st_writer_open(&w, path, &err), 0);
    st_writer_u32(w, "k", 1);
    assert_int_equal(st_writer_finish(w, &err), 0);
    assert_true(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    assert_true(lstat(target, &info) == 0 && info.st_size > 0);
    unlink(path);
    unlink(target);
    assert_int_equal(st_writer_open(&w, "", &err), STRETTO_E_USAGE);
}

/* In a process that may write 300,000 bytes: the disk is full in the middle of the data. */
static int write_too_much(void) {
    static uint8_t data[100000];
    struct rlimit limit = {300000, 300000};
    stretto_error err = {0};
    char wanted[200];
    st_gguf_writer *w;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || st_writer_open(&w, path, &err) != 0) return 1;
    st_writer_tensor(w, "x", ST_I8, (uint64_t[]){100 * sizeof data}, 1);
    for (int i = 0; i < 100; i++) st_writer_data(w, data, sizeof data);
    snprintf(wanted, sizeof wanted, "%s: cannot write: File too large", path);
    if (st_writer_ok(w)) return 2;
    if (st_writer_finish(w, &err) != STRETTO_E_IO) return 3;
    return strcmp(err.text, wanted) == 0 && !exists(path) && !exists(part) ? 0 : 4;
}

static void test_full_disk(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) _exit(write_too_much());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_larger_than_the_buffer),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_replaces_and_aborts),
        cmocka_unit_test(test_wrong_data),
        cmocka_unit_test(test_wrong_declarations),
        cmocka_unit_test(test_unwritable_path),
        cmocka_unit_test(test_special_targets),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
