/* SPDX-License-Identifier: MIT
 * A record from one process to another of the same program, through a pipe. It is no file format: both sides must be
 * the same build, which is checked. */
#ifndef ST_PROBE_WIRE_H
#define ST_PROBE_WIRE_H

#include "probe/record.h"

/* Writes the whole record. STRETTO_E_IO. */
int st_record_send(int fd, const st_probe_record *record, stretto_error *err);

/* Reads one; *record is the caller's, st_probe_record_free, also after a failure: then it has the rows that came whole,
 * which can be judged. STRETTO_E_IO when it ends early, STRETTO_E_INPUT when it is not from this build,
 * STRETTO_E_MEMORY. */
int st_record_receive(int fd, st_probe_record *record, stretto_error *err);

#endif
