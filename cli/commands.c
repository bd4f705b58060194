/* SPDX-License-Identifier: MIT */
#include "commands.h"

const cli_command *const cli_commands[] = {
    &cmd_probe,    &cmd_compare, &cmd_plan,       &cmd_audit, &cmd_spike, &cmd_run,  &cmd_bench, &cmd_inspect,
    &cmd_tokenize, &cmd_logits,  &cmd_perplexity, &cmd_units, &cmd_synth, &cmd_help, NULL,
};
