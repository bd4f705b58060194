/* SPDX-License-Identifier: MIT
 * A pass: rows of one or several streams on their way through all chunks of a placement. Many tokens of one stream (a
 * prompt), one token each of many streams (a batch) and one token of one stream (a decode step) are the same thing.
 *
 * A pass is filled, submitted and waited for, then filled again. Several passes may be in flight at once, through the
 * same placement or through several. One thread fills and submits all passes of a stream. */
#ifndef ST_DEVICE_PASS_H
#define ST_DEVICE_PASS_H

#include "device/placement.h"
#include "device/stream.h"
#include "unit/event.h"

#define ST_PASS_MAX_AFTER (ST_UNIT_MAX_DEPS - 1) /* passes that one pass can follow */

typedef struct st_pass st_pass;

/* Chooses a token from the logits of one row, on a worker of the last chunk's unit; calls for several rows may run at
 * once. argmax is the likeliest token. */
typedef int32_t (*st_pick_fn)(void *arg, const float *logits, int32_t argmax);

/* Has queues of its own on the placement's units, so a pass that waits holds up no other. max_logits: most rows whose
 * logits can be wanted, at most max_rows. Allocates all that a pass ever needs. STRETTO_E_MEMORY, or what a unit says.
 */
int st_pass_open(st_pass **out, st_placement *placement, uint32_t max_rows, uint32_t max_logits, const st_trace *trace,
                 stretto_error *err);
void st_pass_close(st_pass *pass); /* waits until it is done; NULL is fine */

void st_pass_clear(st_pass *pass); /* not in flight */

/* Appends n tokens to the stream and to the pass; the logits of the last n_wanted of them are wanted. The caller has
 * checked the ids, and that the stream and the pass have room. */
void st_pass_add(st_pass *pass, st_stream *stream, const int32_t *ids, uint32_t n, uint32_t n_wanted);

/* Appends one token, with its logits, that is not known yet: the one that `from`, the pass with the stream's latest row
 * so far (wanted, submitted, not filled anew), chooses. */
void st_pass_add_fed(st_pass *pass, st_stream *stream, st_pass *from);

/* Has the token after the last wanted row so far chosen by pick instead of by argmax. */
void st_pass_pick(st_pass *pass, st_pick_fn pick, void *arg);

/* Each chunk of this pass waits until `before`, a submitted one, is done with what this chunk may overwrite. Every pass
 * that has earlier rows of the same stream and is still in flight must be named (once is enough; what feeds this pass
 * is). At most ST_PASS_MAX_AFTER passes. */
void st_pass_follow(st_pass *pass, st_pass *before);

/* Submits all chunks; needs at least one row. When that fails nothing is in flight, and the streams' positions are as
 * after st_pass_add. */
int st_pass_submit(st_pass *pass, stretto_error *err);
/* Until the last chunk is done. When it fails the KV of its streams' new positions is undefined. */
int st_pass_wait(st_pass *pass, stretto_error *err);
/* Of a pass that is done, whether n of its rows from the first-th on came to numbers: STRETTO_E_INPUT names the first
 * row of a table that holds what is no number, or the first position whose logits are none. Rows of other streams are
 * as good as ever. */
int st_pass_check(const st_pass *pass, uint32_t first, uint32_t n, stretto_error *err);
/* Calls the listener when a submitted pass is done (st_listener: on the completing thread); false when it is already.
 */
bool st_pass_listen(st_pass *pass, st_listener *listener);

uint32_t st_pass_rows(const st_pass *pass);
uint32_t st_pass_wanted(const st_pass *pass);
/* Of a pass that is done, for its wanted rows in order: the token that was chosen, and logits [n_vocab]. */
int32_t st_pass_chosen(const st_pass *pass, uint32_t wanted);
const float *st_pass_logits(const st_pass *pass, uint32_t wanted);
/* Start and end of a chunk, on its unit's clock. */
void st_pass_times(const st_pass *pass, uint32_t chunk, uint64_t *start_ns, uint64_t *end_ns);

#endif
