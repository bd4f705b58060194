/* SPDX-License-Identifier: MIT
 * Versions. Within one major number a program keeps running with a newer library; structures may grow from one to the
 * next. (As long as it is 0, every minor version may change anything.) */
#ifndef STRETTO_VERSION_H
#define STRETTO_VERSION_H

#include "stretto/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRETTO_VERSION_MAJOR 0
#define STRETTO_VERSION_MINOR 1
#define STRETTO_VERSION_PATCH 0

/* Of the library that is running: "0.1.0". Static. Any thread. */
STRETTO_API const char *stretto_version(void);

#ifdef __cplusplus
}
#endif
#endif
