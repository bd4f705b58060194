/* SPDX-License-Identifier: MIT
 * Job files: the options of a command as JSON, so that a run can be repeated elsewhere (docs/JOB.md). Keys are the
 * options' names with underscores; values pass through the same checks as on the command line. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "option.h"
#include "json/build.h"
#include "json/read.h"

#define CLI_JOB_SCHEMA "stretto-job/1"

typedef struct cli_job {
    st_json_in in;
    st_json_value top;
    struct cli_job_text *texts; /* values in the form of the command line, which options point to */
} cli_job;

/* Reads the file ("-": standard input). STRETTO_E_IO when it cannot be read; STRETTO_E_INPUT, with the file's name and
 * what is wrong (the line, an unknown key with the nearest known one, a key's value with what it should be), when it is
 * no job for this command. Freed by cli_job_free whatever is returned. */
int cli_job_read(cli_job *job, const cli *cx, const cli_command *command, const char *path, stretto_error *err);

/* Sets what the job says in *options, which point into the job until cli_job_free. STRETTO_E_INPUT as above. */
int cli_job_apply(cli_job *job, const cli_command *command, const char *path, void *options, stretto_error *err);

/* Appends the job that stands for these options. out->failed tells that memory was out. */
void cli_job_write(st_buf *out, const cli_command *command, const void *options);

void cli_job_free(cli_job *job); /* also of zeroed memory */

#endif
