/* SPDX-License-Identifier: MIT
 * Hyper-parameters that the architectures share. */
#ifndef ST_MODEL_HPARAMS_H
#define ST_MODEL_HPARAMS_H

#include "model/bind.h"

/* Widths, layer count, head counts, norms' epsilon and vocabulary size, checked against what the file can hold;
 * allocates model->layers with head counts and feed-forward width set, each layer on KV of its own, no window. */
int st_hparams_read(st_binder *bind, stretto_error *err);

/* One head size for all layers: attention.key_length, which value_length must equal, else d_model / heads. */
int st_hparams_head_dim(const st_binder *bind, const char *key_suffix, const char *value_suffix, uint32_t *head_dim,
                        stretto_error *err);

/* Refuses a key that says how many dimensions of a head turn, when it is there and is not all of them. */
int st_hparams_rotated(const st_binder *bind, const char *suffix, uint32_t head_dim, stretto_error *err);

/* model->softcap from final_logit_softcapping, where the file has it; 0: none. Refuses what is negative or no number.
 */
int st_hparams_softcap(const st_binder *bind, stretto_error *err);

/* Refuses rope scaling other than none and linear; *factor is what positions are divided by (1 without). A factor that
 * comes without a type is linear. */
int st_hparams_rope_scaling(const st_binder *bind, float *factor, stretto_error *err);

/* Makes model->ropes[which]: angle of pair i per position = base^(-2i / head_dim) / factor / factors[i]. factors is a
 * tensor's [head_dim / 2] values or NULL. STRETTO_E_INPUT when an angle is not finite. */
int st_rope_make(st_binder *bind, uint32_t which, uint32_t head_dim, float base, float factor, const float *factors,
                 bool neox, stretto_error *err);

/* Which layers slide: ARCH.attention.sliding_window_pattern (a flag a layer, or every how-many-th is full), else every
 * `period`-th is full; the window from ARCH.attention.sliding_window goes into those that slide. */
int st_hparams_windows(st_binder *bind, uint32_t period, stretto_error *err);

/* Everything of an architecture whose layers are all alike and full: widths, one head size, scores scaled by its root,
 * RoPE with the file's base, scaling and rope_freqs.weight over the whole head. */
int st_hparams_plain(st_binder *bind, bool neox, stretto_error *err);

/* Fails with STRETTO_E_INPUT: "FILE: ARCH.suffix is FOUND, expected WANTED". */
int st_hparams_refuse(const st_binder *bind, stretto_error *err, const char *suffix, uint64_t found,
                      const char *wanted);

#endif
