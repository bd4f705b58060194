/* SPDX-License-Identifier: MIT
 * Files that are damaged, cut off, or made to do harm: each is refused with a reason that names the thing. */
#include "gguf/refuse.h"

#include <stdio.h>

static const char long_name[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* ---- not GGUF, or not a GGUF that we read ---- */

static void expect_start_refused(const char *start, size_t len, const char *reason) {
    st_buf b = {0};
    st_buf_add(&b, start, len);
    put_zeros(&b, 64);
    expect_refused(&b, reason);
}

static void test_other_kinds_of_file(void **state) {
    (void)state;
    expect_start_refused(
        "version https://git-lfs.github.com/spec/v1", 42,
        "broken.gguf: not a GGUF file, but a Git LFS pointer, not the file it stands for: fetch it with git lfs "
        "pull");
    expect_start_refused("<!DOCTYPE html>", 15,
                         "broken.gguf: not a GGUF file, but a web page: use the download link of the file itself");
    expect_start_refused("PK\003\004", 4,
                         "broken.gguf: not a GGUF file, but a zip archive (a PyTorch checkpoint?): convert it to GGUF");
    expect_start_refused("tjgg", 4,
                         "broken.gguf: not a GGUF file, but a GGJT file from before GGUF: convert it to GGUF");
    expect_start_refused("FUGG", 4,
                         "broken.gguf: not a GGUF file, but a big-endian GGUF file: only little-endian ones are read");
    expect_start_refused("\x40\x00\x00\x00\x00\x00\x00\x00{\"a\":", 13,
                         "broken.gguf: not a GGUF file, but maybe safetensors: convert it to GGUF");
    expect_start_refused("\x7f"
                         "ELF",
                         4, "broken.gguf: not a GGUF file: it starts with \"\\x7fELF\" instead of \"GGUF\"");
}

static void expect_version_refused(uint32_t version, const char *reason) {
    st_buf b = {0};
    put_header(&b, version, 0, 0);
    expect_refused(&b, reason);
}

static void test_versions(void **state) {
    (void)state;
    expect_version_refused(
        1, "broken.gguf: header: GGUF version 1 is not read, only 2 and 3: convert the original model again");
    expect_version_refused(0, "broken.gguf: header: GGUF version 0 is not known, only 2 and 3");
    expect_version_refused(4, "broken.gguf: header: GGUF version 4 is not known, only 2 and 3");
    expect_version_refused(0x03000000,
                           "broken.gguf: header: the version is 3 byte-swapped: big-endian GGUF files are not read");
    expect_version_refused(4000000001, "broken.gguf: header: GGUF version 4,000,000,001 is not known, only 2 and 3");
}

static void test_cut_header(void **state) {
    (void)state;
    st_buf b = {0};
    expect_refused(&b, "broken.gguf: the file is empty");
    st_buf_text(&b, "GG");
    expect_refused(&b, "broken.gguf: the file ends after 2 bytes, inside the header (truncated download?)");
    st_buf_text(&b, "GGUF");
    put_u32(&b, 3);
    put_u32(&b, 0);
    expect_refused(&b,
                   "broken.gguf: header: tensor count at 8 needs 8 bytes, but the file ends 4 bytes short (truncated "
                   "download?)");
}

/* ---- counts and lengths ---- */

static void test_counts(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, SIZE_MAX / 96, 0);
    put_zeros(&b, 100);
    expect_refused(
        &b, "broken.gguf: header: the tensor count is 192,153,584,101,141,162, more than the 100 bytes that follow "
            "can describe (damaged file?)");
    put_header(&b, 3, 0, SIZE_MAX / 72 + 1);
    put_zeros(&b, 100);
    expect_refused(
        &b, "broken.gguf: header: the metadata count is 256,204,778,801,521,551, more than the 100 bytes that follow "
            "can hold (damaged file?)");
    put_header(&b, 3, 291, 35);
    put_zeros(&b, 100);
    expect_refused(&b, "broken.gguf: header: the tensor count is 291, more than the 100 bytes that follow can describe "
                       "(truncated download?)");
    put_header(&b, 3, 4, 0); /* as many as there is room for, but there are none */
    put_zeros(&b, 100);
    expect_refused(&b, "broken.gguf: tensor entry 1: the name at 24 has 0 bytes, wanted 1 to 65,535");
}

static void test_string_lengths(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_u64(&b, (uint64_t)1 << 61);
    put_zeros(&b, 20);
    expect_refused(&b,
                   "broken.gguf: metadata entry 1: key at 32 needs 2,305,843,009,213,693,952 bytes, but the file ends "
                   "2,305,843,009,213,693,932 bytes short (damaged file?)");
    put_header(&b, 3, 0, 1);
    put_key(&b, "general.name", ST_V_STRING);
    put_u64(&b, 30);
    st_buf_text(&b, "only twenty bytes...");
    expect_refused(&b, "broken.gguf: key general.name: string at 56 needs 30 bytes, but the file ends 10 bytes short "
                       "(truncated download?)");
    put_header(&b, 3, 0, 1);
    put_key(&b, "general.name", ST_V_STRING);
    put_u64(&b, UINT64_MAX);
    expect_refused(
        &b, "broken.gguf: key general.name: string at 56 needs 18,446,744,073,709,551,615 bytes, but the file ends "
            "18,446,744,073,709,551,615 bytes short (damaged file?)");
}

static void expect_array_refused(uint32_t item_type, uint64_t count, const char *reason) {
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_key(&b, "k.array", ST_V_ARRAY);
    put_array(&b, item_type, count);
    put_zeros(&b, 21);
    expect_refused(&b, reason);
}

static void test_array_lengths(void **state) {
    (void)state;
    expect_array_refused(
        ST_V_U64, (uint64_t)1 << 61,
        "broken.gguf: key k.array: array at 55 has 2,305,843,009,213,693,952 items of 8 bytes, but only 21 "
        "bytes are left in the file (damaged file?)");
    expect_array_refused(
        ST_V_STRING, (uint64_t)1 << 61,
        "broken.gguf: key k.array: array at 55 has 2,305,843,009,213,693,952 strings, more than the 21 bytes left "
        "in the file can hold (damaged file?)");
    expect_array_refused(
        ST_V_U8, (uint64_t)1 << 61,
        "broken.gguf: key k.array: array at 55 needs 2,305,843,009,213,693,952 bytes, but the file ends "
        "2,305,843,009,213,693,931 bytes short (damaged file?)");
    expect_array_refused(
        ST_V_F32, 6,
        "broken.gguf: key k.array: array at 55 needs 24 bytes, but the file ends 3 bytes short (truncated "
        "download?)");
    expect_array_refused(
        ST_V_ARRAY, (uint64_t)1 << 61,
        "broken.gguf: key k.array: length of an array at 71 needs 8 bytes, but the file ends 3 bytes short "
        "(truncated download?)");
    expect_array_refused(
        13, 1, "broken.gguf: key k.array: array items of type 13, which no version of GGUF has (damaged file?)");
}

static void test_string_in_array(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_key(&b, "tokenizer.ggml.tokens", ST_V_ARRAY);
    put_array(&b, ST_V_STRING, 3);
    put_str(&b, "one");
    put_str(&b, "two");
    put_u64(&b, 5);
    st_buf_text(&b, "th");
    expect_refused(
        &b, "broken.gguf: key tokenizer.ggml.tokens: string in the array at 99 needs 5 bytes, but the file ends 3 "
            "bytes short (truncated download?)");
}

static void test_nested_arrays(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_key(&b, "deep", ST_V_ARRAY);
    for (int i = 0; i < 10000; i++) put_array(&b, ST_V_ARRAY, 1);
    put_array(&b, ST_V_U8, 0);
    expect_refused(&b, "broken.gguf: key deep: arrays are nested more than 8 deep at 148");
}

static void test_value_type(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_key(&b, "odd", 13);
    put_zeros(&b, 8);
    expect_refused(&b, "broken.gguf: key odd: value of type 13, which no version of GGUF has (damaged file?)");
}

/* ---- keys ---- */

static void test_empty_key(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_key(&b, "", ST_V_U8);
    put_u8(&b, 1);
    assert_int_equal(b.len, 37);
    expect_refused(&b, "broken.gguf: metadata entry 1: the key at 24 is empty");
}

static void test_long_key(void **state) {
    (void)state;
    static char key[65537];
    st_buf b = {0};
    memset(key, 'k', 65536);
    put_header(&b, 3, 0, 1);
    put_key(&b, key, ST_V_U8);
    put_u8(&b, 1);
    expect_refused(
        &b, "broken.gguf: metadata entry 1: the key at 24 has 65,536 bytes, more than the 65,535 that GGUF allows");
    key[65535] = '\0';
    put_header(&b, 3, 0, 1);
    put_key(&b, key, ST_V_U8);
    put_u8(&b, 1);
    st_gguf *g = expect_parsed(&b, NULL);
    assert_non_null(st_gguf_find(g, key));
    st_gguf_close(g);
    st_buf_free(&b);
}

static void test_key_twice(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 3);
    put_key_u32(&b, "a.b", 1);
    put_key_u32(&b, "a.c", 2);
    put_key_u32(&b, "a.b", 3);
    expect_refused(&b, "broken.gguf: key a.b is there twice, as metadata entries 1 and 3");
}

/* Names out of a file end up on a terminal: nothing in them may command it, or push the reason out. */
static void test_names_are_made_printable(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_key(&b, "\x1b[2J\n\xff", 99);
    put_u32(&b, 1);
    expect_refused(
        &b, "broken.gguf: key \\x1b[2J\\x0a\\xff: value of type 99, which no version of GGUF has (damaged file?)");
    put_header(&b, 3, 0, 1);
    put_key(&b, long_name, 99);
    put_u32(&b, 1);
    expect_refused(
        &b, "broken.gguf: key 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef012345678"
            "...: value of type 99, which no version of GGUF has (damaged file?)");
}

static void test_alignment(void **state) {
    (void)state;
    static const uint32_t refused[] = {0, 1, 3, 4, 24, 0x80000001};
    static const char *const shown[] = {"0", "1", "3", "4", "24", "2,147,483,649"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        st_buf b = {0};
        char reason[200];
        put_header(&b, 3, 0, 1);
        put_key_u32(&b, "general.alignment", refused[i]);
        snprintf(reason, sizeof reason, "broken.gguf: key general.alignment is %s, wanted a power of two, 8 or more",
                 shown[i]);
        expect_refused(&b, reason);
    }
    st_buf b = {0};
    put_header(&b, 3, 0, 1);
    put_key(&b, "general.alignment", ST_V_I32);
    put_u32(&b, 32);
    expect_refused(&b, "broken.gguf: key general.alignment is i32, wanted u32");
    put_header(&b, 3, 0, 1);
    put_key(&b, "general.alignment", ST_V_ARRAY);
    put_array(&b, ST_V_U32, 0);
    expect_refused(&b, "broken.gguf: key general.alignment is array, wanted u32");
}

/* ---- tensors ---- */

/* A 384-byte file whose tensor's size, padded to the alignment, is 0 in 64 bits. */
static void test_size_that_wraps(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "wraps", 4, (uint64_t[]){4, (1u << 30) - 1, (1u << 30) + 1, 1}, ST_F32, 0);
    put_zeros(&b, 384 - b.len);
    expect_refused(
        &b, "broken.gguf: tensor wraps: [4 x 1,073,741,823 x 1,073,741,825 x 1] of type F32 needs more bytes than any "
            "file has (damaged file?)");
}

static void test_huge_dims(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "token_embd.weight", 2, (uint64_t[]){64, ((uint64_t)1 << 42) + 1}, ST_F32, 0);
    put_zeros(&b, 384 - b.len);
    expect_refused(&b,
                   "broken.gguf: tensor token_embd.weight needs 1,125,899,906,842,880 bytes at 96, but the file ends "
                   "1,125,899,906,842,592 bytes short (damaged file?)");
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "token_embd.weight", 4, (uint64_t[]){32, (uint64_t)1 << 40, (uint64_t)1 << 40, 1}, ST_Q4_0, 0);
    put_zeros(&b, 384 - b.len);
    expect_refused(
        &b,
        "broken.gguf: tensor token_embd.weight: [32 x 1,099,511,627,776 x 1,099,511,627,776] has more elements than "
        "any file (damaged file?)");
    put_header(&b, 3, 1, 0); /* of an unknown type too, since others multiply dimensions */
    put_tensor(&b, "t", 3, (uint64_t[]){UINT64_MAX, 0, 1}, 42, 0);
    put_zeros(&b, 384 - b.len);
    expect_refused(
        &b, "broken.gguf: tensor t: [18,446,744,073,709,551,615] has more elements than any file (damaged file?)");
}

static void test_tensor_entry(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "five", 5, (uint64_t[]){1, 1, 1, 1, 1}, ST_F32, 0);
    put_zeros(&b, 64);
    expect_refused(&b, "broken.gguf: tensor five: 5 dimensions, at most 4 are possible");
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "uneven", 2, (uint64_t[]){48, 2}, ST_Q4_0, 0);
    put_zeros(&b, 64);
    expect_refused(&b, "broken.gguf: tensor uneven: rows of 48 elements are not whole Q4_0 blocks of 32");
    put_header(&b, 3, 1, 0);
    put_f32_row(&b, "crooked", 4, 4);
    put_zeros(&b, 64);
    expect_refused(&b, "broken.gguf: tensor crooked: its offset 4 is not a multiple of the alignment, 32");
    put_header(&b, 3, 1, 1);
    put_key_u32(&b, "general.alignment", 64);
    put_f32_row(&b, "crooked", 4, 32);
    put_zeros(&b, 128);
    expect_refused(&b, "broken.gguf: tensor crooked: its offset 32 is not a multiple of the alignment, 64");
    put_header(&b, 3, 1, 0);
    put_str(&b, "cut");
    put_u32(&b, 4);
    put_u64(&b, 1);
    put_u32(&b, 1);
    expect_refused(
        &b, "broken.gguf: tensor cut: dimensions at 47 needs 8 bytes, but the file ends 4 bytes short (truncated "
            "download?)");
}

static void test_tensor_twice(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 3, 0);
    put_f32_row(&b, "a", 8, 0);
    put_f32_row(&b, "b", 8, 32);
    put_f32_row(&b, "a", 8, 64);
    put_padding(&b, 32);
    put_zeros(&b, 96);
    expect_refused(&b, "broken.gguf: tensor a is there twice, as tensor entries 1 and 3");
}

static void test_overlap(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 3, 0);
    put_f32_row(&b, "late", 8, 64);
    put_f32_row(&b, "early", 9, 0);
    put_f32_row(&b, "middle", 8, 32);
    put_padding(&b, 32);
    put_zeros(&b, 96);
    expect_refused(&b, "broken.gguf: tensors early (36 bytes at 160) and middle (at 192) overlap");
    put_header(&b, 3, 2, 0);
    put_f32_row(&b, "same", 8, 0);
    put_tensor(&b, "place", 1, (uint64_t[]){8}, 42, 0);
    put_padding(&b, 32);
    put_zeros(&b, 32);
    expect_refused(&b, "broken.gguf: tensors same (32 bytes at 128) and place (at 128) overlap");
}

/* ---- cut-off files ---- */

static void put_three_tensors(st_buf *b) {
    put_header(b, 3, 3, 0);
    put_tensor(b, "token_embd.weight", 2, (uint64_t[]){1024, 700}, ST_F32, 4096);
    put_f32_row(b, "output_norm.weight", 1024, 0);
    put_f32_row(b, "last", 8, 4096 + 4 * 1024 * 700);
    put_padding(b, 32);
}

static void test_truncated(void **state) {
    (void)state;
    st_buf b = {0};
    put_three_tensors(&b);
    size_t start = b.len;
    assert_int_equal(start, 192);
    put_zeros(&b, 4096 + 4 * 1024 * 700 + 20); /* the last one lacks 12 bytes */
    expect_refused(&b,
                   "broken.gguf: tensor last needs 32 bytes at 2,871,488, but the file ends 12 bytes short (truncated "
                   "download?)");
    put_three_tensors(&b);
    put_zeros(&b, 4096 + 1000000);
    expect_refused(
        &b, "broken.gguf: tensor token_embd.weight needs 2,867,200 bytes at 4,288, but the file ends 1,867,200 bytes "
            "short (truncated download?); with the tensor after it, 1,867,232 bytes are missing");
    put_three_tensors(&b);
    b.len -= 7; /* in the padding before all data */
    expect_refused(
        &b, "broken.gguf: tensor output_norm.weight needs 4,096 bytes at 192, but the file ends 4,103 bytes short "
            "(truncated download?); with the 2 tensors after it, 2,871,335 bytes are missing");
}

static void test_unknown_type_past_the_end(void **state) {
    (void)state;
    st_buf b = {0};
    put_header(&b, 3, 1, 0);
    put_tensor(&b, "strange", 1, (uint64_t[]){64}, 42, 4096);
    put_padding(&b, 32);
    put_zeros(&b, 4096);
    expect_refused(
        &b, "broken.gguf: tensor strange needs 1 byte at 4,160, but the file ends 1 byte short (truncated download?)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_kinds_of_file),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_cut_header),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_string_lengths),
        cmocka_unit_test(test_array_lengths),
        cmocka_unit_test(test_string_in_array),
        cmocka_unit_test(test_nested_arrays),
        cmocka_unit_test(test_value_type),
        cmocka_unit_test(test_empty_key),
        cmocka_unit_test(test_long_key),
        cmocka_unit_test(test_key_twice),
        cmocka_unit_test(test_names_are_made_printable),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_size_that_wraps),
        cmocka_unit_test(test_huge_dims),
        cmocka_unit_test(test_tensor_entry),
        cmocka_unit_test(test_tensor_twice),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_unknown_type_past_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
