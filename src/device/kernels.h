/* SPDX-License-Identifier: MIT
 * The matrix products of a kernel table, each alone on a lane: what they reach of the lane's peaks. */
#ifndef ST_DEVICE_KERNELS_H
#define ST_DEVICE_KERNELS_H

#include "device/timing.h"
#include "kern/kern.h"

/* Weights and activations to multiply, on room that is used again and again. */
typedef struct st_kernels st_kernels;

/* memory_bytes: of the weights of a matrix-vector product; see st_control_memory. STRETTO_E_MEMORY. */
int st_kernels_open(st_kernels **out, const st_kern *kern, uint64_t memory_bytes, stretto_error *err);
void st_kernels_close(st_kernels *kernels); /* NULL is fine */

typedef struct st_kernel_time {
    st_timing time;
    st_turns turns;
    uint64_t bytes;      /* packed weights that one run reads */
    uint64_t operations; /* multiply-adds of one run */
} st_kernel_time;

/* Times products of weights of a type that the table has (kern->formats) with `tokens` tokens, 1 to ST_PANEL, on all
 * workers of a lane, in turns with a plain step (control.h). One token: weights of all the memory (less where the
 * kernels are slow), so that they come from there. More: a matrix of 1536 x 1536. STRETTO_E_UNIT, STRETTO_E_MEMORY. */
int st_kernels_time(st_kernels *kernels, st_unit *unit, uint32_t type, uint32_t tokens, const st_step *plain,
                    st_kernel_time *out, stretto_error *err);

#endif
