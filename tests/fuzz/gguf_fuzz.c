/* SPDX-License-Identifier: MIT
 * libFuzzer target of the GGUF parser: any bytes either parse, and can then be read in full, or are refused with a
 * reason. */
#include "fuzz/gguf_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    walk_gguf(data, size);
    return 0;
}
