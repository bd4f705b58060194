/* SPDX-License-Identifier: MIT
 * Marks what the library exports; everything else in it is hidden. */
#ifndef STRETTO_EXPORT_H
#define STRETTO_EXPORT_H

#if defined(__GNUC__)
#define STRETTO_API __attribute__((visibility("default")))
#else
#define STRETTO_API
#endif

#endif
