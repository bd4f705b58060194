/* SPDX-License-Identifier: MIT
 * The subcommands, one file each. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "option.h"

extern const cli_command cmd_audit, cmd_bench, cmd_compare, cmd_help, cmd_inspect, cmd_logits, cmd_perplexity, cmd_plan,
    cmd_probe, cmd_run, cmd_spike, cmd_synth, cmd_tokenize, cmd_units;

#endif
