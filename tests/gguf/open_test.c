/* SPDX-License-Identifier: MIT
 * Opening files: what is not a file is refused, what is can be read and partly let go. */
#include "gguf/refuse.h"
#include "gguf/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/stretto-open-XXXXXX";
static char path[64];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/x.gguf", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static void expect_not_opened(const char *what, int code, const char *reason) {
    st_gguf *g = NULL;
    stretto_error err = {0};
    char wanted[200];
    snprintf(wanted, sizeof wanted, "%s: %s", what, reason);
    assert_int_equal(st_gguf_open(&g, what, NULL, &err), code);
    assert_string_equal(err.text, wanted);
    assert_null(g);
    assert_int_equal(st_gguf_open(&g, what, NULL, NULL), code);
}

static void write_file(const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_not_a_file(void **state) {
    (void)state;
    expect_not_opened(path, STRETTO_E_IO, "cannot open: No such file or directory");
    expect_not_opened(folder, STRETTO_E_IO, "is a folder, not a file");
    expect_not_opened("/dev/null", STRETTO_E_IO, "is not a regular file, so it cannot be mapped");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_not_opened(path, STRETTO_E_IO, "is not a regular file, so it cannot be mapped"); /* and does not wait */
    unlink(path);
    write_file("");
    expect_not_opened(path, STRETTO_E_INPUT, "is empty");
    write_file("GGUF");
    expect_not_opened(path, STRETTO_E_INPUT,
                      "header: version at 4 needs 4 bytes, but the file ends 4 bytes short (truncated "
                      "download?)");
    unlink(path);
}

/* Pages of a tensor that was let go are gone from memory, and come back when touched. */
static void test_drop(void **state) {
    (void)state;
    enum { BYTES = 1 << 20 };
    st_gguf_writer *w;
    st_gguf *g;
    uint8_t *ones = malloc(BYTES);
    assert_non_null(ones);
    memset(ones, 1, BYTES);
    assert_int_equal(st_writer_open(&w, path, NULL), 0);
    st_writer_tensor(w, "small", ST_I8, (uint64_t[]){100}, 1);
    st_writer_tensor(w, "large", ST_I8, (uint64_t[]){BYTES}, 1);
    st_writer_data(w, ones, 100);
    st_writer_data(w, ones, BYTES);
    assert_int_equal(st_writer_finish(w, NULL), 0);
    assert_int_equal(st_gguf_open(&g, path, NULL, NULL), 0);
    const st_tensor *large = st_gguf_tensor(g, "large");
    assert_memory_equal(large->data, ones, BYTES);
    st_gguf_drop(g, large);
    st_gguf_drop(g, st_gguf_tensor(g, "small")); /* less than a page: nothing to do */
    assert_memory_equal(large->data, ones, BYTES);
    st_gguf_close(g);
    unlink(path);
    free(ones);
}

/* Of the mapping that holds data. */
static size_t resident_kb(const uint8_t *data) {
    char line[256];
    unsigned long from, to, kb, n = 0;
    bool found = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            found = from <= (uintptr_t)data && (uintptr_t)data < to;
        else if (found && sscanf(line, "Rss: %lu kB", &kb) == 1)
            n = kb;
    }
    fclose(maps);
    return n;
}

/* What is read a piece at a time does not count as the program's memory; in memory of the caller's it is copied. */
static void test_read(void **state) {
    (void)state;
    enum { BYTES = 4 << 20, PIECE = 100 };
    st_gguf_writer *w;
    st_gguf *g;
    uint8_t piece[PIECE], *data = malloc(BYTES);
    assert_non_null(data);
    for (int i = 0; i < BYTES; i++) data[i] = (uint8_t)(i % 251);
    assert_int_equal(st_writer_open(&w, path, NULL), 0);
    st_writer_tensor(w, "small", ST_I8, (uint64_t[]){100}, 1);
    st_writer_tensor(w, "large", ST_I8, (uint64_t[]){BYTES}, 1);
    st_writer_data(w, data, 100);
    st_writer_data(w, data, BYTES);
    assert_int_equal(st_writer_finish(w, NULL), 0);
    assert_int_equal(st_gguf_open(&g, path, NULL, NULL), 0);
    const st_tensor *large = st_gguf_tensor(g, "large");
    assert_int_equal(large->data[0], 0); /* and what the kernel maps around it */
    size_t before = resident_kb(large->data);
    for (size_t at = 0; at + PIECE <= BYTES; at += 60000) {
        st_gguf_read(g, large, at, PIECE, piece);
        assert_memory_equal(piece, data + at, PIECE);
    }
    assert_true(resident_kb(large->data) <= before + 64);
    st_gguf *in_memory;
    assert_int_equal(st_gguf_parse(&in_memory, g->base, g->size, "memory", NULL, NULL), 0);
    st_gguf_read(in_memory, st_gguf_tensor(in_memory, "large"), 777, PIECE, piece);
    assert_memory_equal(piece, data + 777, PIECE);
    st_gguf_close(in_memory);
    st_gguf_close(g);
    unlink(path);
    free(data);
}

/* In memory of the caller's, letting go must not lose anything. */
static void test_drop_in_memory(void **state) {
    (void)state;
    enum { BYTES = 1 << 16 };
    st_buf b = {0};
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "t", 1, (uint64_t[]){BYTES}, ST_I8, 0);
    put_padding(&b, 32);
    for (int i = 0; i < BYTES; i++) put_u8(&b, 9);
    void *pages = mmap(NULL, b.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    memcpy(pages, b.data, b.len);
    st_gguf *g;
    assert_int_equal(st_gguf_parse(&g, pages, b.len, "memory", NULL, NULL), 0);
    st_gguf_drop(g, g->tensors);
    assert_memory_equal(pages, b.data, b.len);
    st_gguf_close(g);
    munmap(pages, b.len);
    st_buf_free(&b);
}

/* Files as they come from others. */
static void test_golden_files(void **state) {
    (void)state;
    static const char *const names[] = {"tiny-llama-F32",  "tiny-llama-Q4_1",    "tiny-llama-Q8_0",
                                        "tiny-gemma3-F32", "tiny-gemma3-Q4_0",   "tiny-qwen2-F16",
                                        "tiny-qwen3-Q5_0", "tiny-gemma4w-Q4_K_M"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[300];
        st_gguf *g;
        st_str architecture;
        const st_tensor *t;
        stretto_error err;
        snprintf(file, sizeof file, "%s/%s.gguf", ST_GOLDEN, names[i]);
        if (st_gguf_open(&g, file, NULL, &err)) fail_msg("%s", err.text);
        assert_int_equal(st_gguf_str(g, "general.architecture", true, &architecture, &err), 0);
        assert_memory_equal(architecture.data, names[i] + 5, architecture.len);
        assert_int_equal(st_tensor_require(g, "token_embd.weight", &t, &err), 0);
        assert_int_equal(t->dims[1], 448);
        st_gguf_close(g);
    }
}

/* The first part of a real file names the first tensor that is not whole. */
static void test_golden_cut(void **state) {
    (void)state;
    st_gguf *g, *cut;
    stretto_error err;
    assert_int_equal(st_gguf_open(&g, ST_GOLDEN "/tiny-llama-Q8_0.gguf", NULL, &err), 0);
    const st_tensor *first = &g->tensors[0];
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].offset < first->offset) first = &g->tensors[i];
    char wanted[120], name[80];
    snprintf(name, sizeof name, "%.*s", (int)first->name.len, first->name.data);
    snprintf(wanted, sizeof wanted, "cut.gguf: tensor %s needs ", name);
    size_t size = (size_t)first->offset + first->bytes - 1;
    assert_int_equal(st_gguf_parse(&cut, g->base, size, "cut.gguf", NULL, &err), STRETTO_E_INPUT);
    assert_memory_equal(err.text, wanted, strlen(wanted));
    assert_non_null(strstr(err.text, "but the file ends 1 byte short (truncated download?)"));
    st_gguf_close(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_a_file),     cmocka_unit_test(test_drop),         cmocka_unit_test(test_read),
        cmocka_unit_test(test_drop_in_memory), cmocka_unit_test(test_golden_files), cmocka_unit_test(test_golden_cut),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
