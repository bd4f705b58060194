/* SPDX-License-Identifier: MIT
 * Small valid files that between them have every tensor type and every metadata type, in one folder. For the fuzz
 * target and for the mutation test. */
#ifndef ST_TESTS_FUZZ_GGUF_SEED_FILES_H
#define ST_TESTS_FUZZ_GGUF_SEED_FILES_H

#include "gguf/bytes.h"
#include "gguf/writer.h"

#include <stdio.h>

#define SEED_PATH 4200

static inline const char *seed_path(char out[SEED_PATH], const char *folder, const char *name) {
    snprintf(out, SEED_PATH, "%s/%s.gguf", folder, name);
    return out;
}

/* Appends a tensor's data: counted bytes, so that blocks hold all sorts of scales. */
static inline void seed_data(st_gguf_writer *w, size_t n) {
    for (size_t i = 0; i < n; i++) st_writer_data(w, &(uint8_t){(uint8_t)(i * 37 + 11)}, 1);
}

/* One file a tensor type, two rows of one block. */
static inline int seed_tensor_types(const char *folder) {
    int failures = 0;
    for (uint32_t type = 0; type < ST_TYPE_COUNT; type++) {
        const st_type_info *info = st_type_find(type);
        char path[SEED_PATH];
        st_gguf_writer *w;
        if (!info) continue;
        if (st_writer_open(&w, seed_path(path, folder, info->name), NULL)) return 1;
        st_writer_string(w, "general.architecture", "seed", 4);
        st_writer_tensor(w, "weight", type, (uint64_t[]){info->block_len, 2}, 2);
        seed_data(w, 2 * (size_t)info->block_bytes);
        failures += st_writer_finish(w, NULL) != 0;
    }
    return failures;
}

/* Every type of number, alone and in arrays; strings; an alignment; several tensors. */
static inline int seed_values(const char *folder) {
    static const uint64_t numbers[3] = {1, 0x3f800000, 0x4010000000000000};
    static const char *const words[] = {"<s>", "", "\xe2\x96\x81the", "a longer piece of text"};
    static const size_t lens[] = {3, 0, 6, 22};
    char path[SEED_PATH], key[64];
    st_gguf_writer *w;
    if (st_writer_open(&w, seed_path(path, folder, "values"), NULL)) return 1;
    st_writer_u32(w, "general.alignment", 64);
    for (uint32_t type = 0; type <= ST_V_F64; type++) {
        if (type == ST_V_STRING || type == ST_V_ARRAY) continue;
        snprintf(key, sizeof key, "seed.%s", st_value_type_name(type));
        st_writer_number(w, key, type, numbers);
        snprintf(key, sizeof key, "seed.array.%s", st_value_type_name(type));
        st_writer_array(w, key, type, numbers, 3);
    }
    st_writer_string(w, "seed.string", "text", 4);
    st_writer_strings(w, "seed.strings", words, lens, 4);
    st_writer_strings(w, "seed.no_strings", words, lens, 0);
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "blk.%d.weight", i);
        st_writer_tensor(w, key, ST_F32, (uint64_t[]){3, 2, 1, 2}, (uint32_t)i + 2);
    }
    seed_data(w, 24 + 24 + 48);
    return st_writer_finish(w, NULL) != 0;
}

/* What the writer does not write: version 2, arrays of arrays, an unknown tensor type, dimensions of 0, no dimensions.
 */
static inline int seed_by_hand(const char *folder) {
    char path[SEED_PATH];
    st_buf b = {0};
    put_header(&b, 2, 4, 2);
    put_key(&b, "seed.nested", ST_V_ARRAY);
    put_array(&b, ST_V_ARRAY, 2);
    put_array(&b, ST_V_ARRAY, 1);
    put_array(&b, ST_V_STRING, 1);
    put_str(&b, "deep");
    put_array(&b, ST_V_U16, 2);
    put_u32(&b, 0x00020001);
    put_key_u32(&b, "seed.block_count", 3);
    put_tensor(&b, "unknown", 1, (uint64_t[]){5}, 42, 0);
    put_tensor(&b, "empty", 2, (uint64_t[]){64, 0}, ST_Q8_0, 32);
    put_tensor(&b, "scalar", 0, NULL, ST_F32, 32);
    put_tensor(&b, "row", 1, (uint64_t[]){32}, ST_Q4_0, 64);
    put_padding(&b, 32);
    put_zeros(&b, 64 + 18);
    FILE *f = b.failed ? NULL : fopen(seed_path(path, folder, "by_hand"), "wb");
    bool ok = f && fwrite(b.data, 1, b.len, f) == b.len;
    ok = f && fclose(f) == 0 && ok;
    st_buf_free(&b);
    return !ok;
}

/* Returns how many files could not be written. */
static inline int seed_all(const char *folder) {
    return seed_tensor_types(folder) + seed_values(folder) + seed_by_hand(folder);
}

#endif
