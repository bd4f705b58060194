/* SPDX-License-Identifier: MIT */
#include "report/sink.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/stretto-sink-XXXXXX";

static int folder_make(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

static const char *path_of(const char *name) {
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void file_is(const char *name, const char *content) {
    char got[200] = "";
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    size_t n = fread(got, 1, sizeof got - 1, file);
    fclose(file);
    assert_int_equal(n, strlen(content));
    assert_string_equal(got, content);
}

static unsigned files_in_folder(void) {
    unsigned n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void put(st_sink *sink, const char *text) {
    st_buf buf = {0};
    st_buf_text(&buf, text);
    assert_int_equal(st_sink_put(sink, &buf, NULL), 0);
    st_buf_free(&buf);
}

static void results_replace_each_other_whole(void **state) {
    (void)state;
    st_sink *sink;
    assert_int_equal(st_sink_open(&sink, path_of("r.json"), NULL), 0);
    assert_int_equal(access(path_of("r.json"), F_OK), -1); /* nothing there before there is something to say */
    put(sink, "first, and long\n");
    file_is("r.json", "first, and long\n");
    put(sink, "second\n");
    file_is("r.json", "second\n");
    assert_string_equal(st_sink_path(sink), path_of("r.json"));
    st_sink_close(sink);
    assert_int_equal(files_in_folder(), 1);
    struct stat info;
    assert_int_equal(stat(path_of("r.json"), &info), 0);
    assert_int_equal(info.st_mode & 0600, 0600);
}

static void what_was_there_stays_until_then(void **state) {
    (void)state;
    st_sink *sink;
    assert_int_equal(st_sink_open(&sink, path_of("r.json"), NULL), 0);
    st_sink_close(sink);
    file_is("r.json", "second\n");
    assert_int_equal(files_in_folder(), 1);
    st_sink_close(NULL);
}

static void a_symbolic_link_stays_one(void **state) {
    (void)state;
    assert_int_equal(symlink("r.json", path_of("link")), 0);
    st_sink *sink;
    assert_int_equal(st_sink_open(&sink, path_of("link"), NULL), 0);
    put(sink, "third\n");
    st_sink_close(sink);
    struct stat info;
    assert_int_equal(lstat(path_of("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    file_is("r.json", "third\n");
}

static void places_that_cannot_be_written_are_known_at_once(void **state) {
    (void)state;
    st_sink *sink;
    stretto_error err;
    assert_int_equal(st_sink_open(&sink, path_of("none/r.json"), &err), STRETTO_E_IO);
    assert_non_null(strstr(err.text, "none/r.json: No such file or directory"));
    assert_null(sink);
    assert_int_equal(st_sink_open(&sink, folder, &err), STRETTO_E_IO);
    assert_non_null(strstr(err.text, "Is a directory"));
    assert_int_equal(st_sink_open(&sink, "", &err), STRETTO_E_IO);
}

static void a_full_disk_is_named(void **state) {
    (void)state;
    st_sink *sink;
    stretto_error err;
    if (st_sink_open(&sink, "/dev/full", &err) != 0) skip(); /* not every sandbox has the device */
    st_buf text = {0};
    st_buf_text(&text, "{}\n");
    assert_int_equal(st_sink_put(sink, &text, &err), STRETTO_E_IO);
    assert_string_equal(err.text, "cannot write /dev/full: No space left on device (3 bytes were to be written)");
    st_sink_close(sink);
    st_buf_free(&text);
    assert_int_equal(access("/dev/full", F_OK), 0);
}

static void text_that_was_not_whole_is_not_written(void **state) {
    (void)state;
    st_sink *sink;
    stretto_error err;
    assert_int_equal(st_sink_open(&sink, path_of("r.json"), NULL), 0);
    assert_int_equal(st_sink_put(sink, &(st_buf){.failed = true}, &err), STRETTO_E_MEMORY);
    st_sink_close(sink);
    file_is("r.json", "third\n");
}

static void a_file_that_is_replaced_keeps_its_permissions(void **state) {
    (void)state;
    st_sink *sink;
    struct stat info;
    assert_int_equal(st_sink_open(&sink, path_of("own.json"), NULL), 0);
    put(sink, "mine\n");
    st_sink_close(sink);
    assert_int_equal(chmod(path_of("own.json"), 0600), 0);
    assert_int_equal(st_sink_open(&sink, path_of("own.json"), NULL), 0);
    put(sink, "new\n");
    st_sink_close(sink);
    file_is("own.json", "new\n");
    assert_int_equal(stat(path_of("own.json"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

/* What a reader of the pipe gets from early texts and, unless it is NULL, the last one. */
static void pipe_gets(const char *const *early, const char *last, const char *wanted) {
    char got[100] = "";
    st_sink *sink;
    unlink(path_of("pipe"));
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    int reader = open(path_of("pipe"), O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(st_sink_open(&sink, path_of("pipe"), NULL), 0);
    for (; *early; early++) {
        st_buf buf = {0};
        st_buf_text(&buf, *early);
        assert_int_equal(st_sink_put_early(sink, &buf, NULL), 0);
        st_buf_free(&buf);
    }
    if (last) put(sink, last);
    st_sink_close(sink);
    ssize_t n = read(reader, got, sizeof got - 1);
    close(reader);
    unlink(path_of("pipe"));
    assert_int_equal(n, strlen(wanted));
    assert_string_equal(got, wanted);
}

static void a_pipe_gets_one_text(void **state) {
    (void)state;
    pipe_gets((const char *[]){"one\n", "two\n", NULL}, "three\n", "three\n");
    pipe_gets((const char *[]){"one\n", "two\n", NULL}, NULL, "two\n");
    pipe_gets((const char *[]){NULL}, NULL, "");
}

static void a_file_has_what_there_is_early(void **state) {
    (void)state;
    st_sink *sink;
    st_buf early = {0};
    st_buf_text(&early, "so far\n");
    assert_int_equal(st_sink_open(&sink, path_of("early.json"), NULL), 0);
    assert_int_equal(st_sink_put_early(sink, &early, NULL), 0);
    file_is("early.json", "so far\n");
    put(sink, "whole\n");
    st_sink_close(sink);
    file_is("early.json", "whole\n");
    st_buf_free(&early);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_replace_each_other_whole),
        cmocka_unit_test(what_was_there_stays_until_then),
        cmocka_unit_test(a_symbolic_link_stays_one),
        cmocka_unit_test(places_that_cannot_be_written_are_known_at_once),
        cmocka_unit_test(a_full_disk_is_named),
        cmocka_unit_test(text_that_was_not_whole_is_not_written),
        cmocka_unit_test(a_file_that_is_replaced_keeps_its_permissions),
        cmocka_unit_test(a_pipe_gets_one_text),
        cmocka_unit_test(a_file_has_what_there_is_early),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
