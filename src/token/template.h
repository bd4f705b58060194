/* SPDX-License-Identifier: MIT
 * What a file's chat template asks for. Templates are programs (Jinja); they are not run but recognised by the markers
 * of their family, and the details in which members of a family differ are read from their text. */
#ifndef ST_TOKEN_TEMPLATE_H
#define ST_TOKEN_TEMPLATE_H

#include "base/buf.h"
#include "gguf/gguf.h"
#include "stretto/error.h"

#include <stdbool.h>

enum st_chat_kind { ST_CHAT_NONE, ST_CHAT_CHATML, ST_CHAT_LLAMA3, ST_CHAT_GEMMA, ST_CHAT_GEMMA4 };

typedef struct st_template {
    bool names_bos;      /* starts with BOS */
    bool trims;          /* white space around a turn's text is taken away */
    bool hides_thinking; /* Gemma 4: thoughts are cut out of the assistant's earlier turns */
    bool has_system;     /* ChatML: default_system goes in front when the first turn is not a system turn */
    st_buf default_system;
    bool has_system_head; /* Llama 3: there always is a system turn, which starts with system_head */
    st_buf system_head;
    st_buf opening;      /* ChatML: what follows the marker and role of the assistant's turn, normally a newline */
    bool skips_thinking; /* Gemma 4: the assistant's turn starts with an empty thought */
} st_template;

/* The family whose turn marker stands in the text. */
enum st_chat_kind st_template_kind(st_str text);
/* Reads the details. STRETTO_E_MEMORY. Afterwards it is owned, st_template_free, in every case. */
int st_template_read(st_template *read, enum st_chat_kind kind, st_str text, stretto_error *err);
void st_template_free(st_template *read);

#endif
