/* SPDX-License-Identifier: MIT */
#include "stretto/version.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *stretto_version(void) {
    return TEXT(STRETTO_VERSION_MAJOR) "." TEXT(STRETTO_VERSION_MINOR) "." TEXT(STRETTO_VERSION_PATCH);
}
