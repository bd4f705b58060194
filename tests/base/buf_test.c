/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void grows(void **state) {
    (void)state;
    st_buf buf = {0};
    for (int i = 0; i < 1000; i++) st_buf_printf(&buf, "%03d", i);
    assert_false(buf.failed);
    assert_int_equal(buf.len, 3000);
    assert_int_equal(strlen(buf.data), 3000);
    assert_memory_equal(buf.data + 2997, "999", 3);
    st_buf_free(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.len + buf.cap, 0);
}

static void takes_any_bytes(void **state) {
    (void)state;
    st_buf buf = {0};
    st_buf_add(&buf, "a\0b", 3);
    st_buf_add(&buf, NULL, 0);
    st_buf_text(&buf, "c");
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "a\0bc", 5);
    st_buf_free(&buf);
}

/* What was there before a failure stays; nothing is added after it. */
static void failure_sticks(void **state) {
    (void)state;
    st_buf buf = {0};
    st_buf_text(&buf, "kept");
    st_buf_add(&buf, "x", SIZE_MAX - 2);
    assert_true(buf.failed);
    st_buf_text(&buf, "more");
    assert_string_equal(buf.data, "kept");
    st_buf_free(&buf);
    assert_false(buf.failed);
}

static void reads_files(void **state) {
    (void)state;
    char path[] = "/tmp/stretto-buf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int i = 0; i < 1000; i++) assert_int_equal(write(fd, "0123456789", 10), 10);
    close(fd);
    st_buf buf = {0};
    assert_true(st_file_read(&buf, "/tmp", path + 4, 9995));
    assert_int_equal(buf.len, 9995);
    assert_memory_equal(buf.data + 9990, "01234", 6);
    buf.len = 0;
    assert_true(st_file_read(&buf, "", path, 1 << 20));
    assert_int_equal(buf.len, 10000);
    assert_false(st_file_read(&buf, "", "/nonexistent/file", 10));
    assert_false(st_file_read(&buf, "", "/tmp", 10));
    st_buf_free(&buf);
    assert_true(truncate(path, 0) == 0);
    assert_true(st_file_read(&buf, "", path, 10));
    assert_string_equal(buf.data, "");
    st_buf_free(&buf);
    unlink(path);
}

static void writes_files(void **state) {
    (void)state;
    char path[] = "/tmp/stretto-buf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(st_file_write(fd, "one\0", 4) && st_file_write(fd, "", 0) && st_file_write(fd, "two", 3));
    close(fd);
    st_buf buf = {0};
    assert_true(st_file_read(&buf, "", path, 100));
    assert_int_equal(buf.len, 7);
    assert_memory_equal(buf.data, "one\0two", 7);
    st_buf_free(&buf);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_false(st_file_write(fd, "no", 2));
    assert_int_equal(errno, EBADF);
    close(fd);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),       cmocka_unit_test(takes_any_bytes), cmocka_unit_test(failure_sticks),
        cmocka_unit_test(reads_files), cmocka_unit_test(writes_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
