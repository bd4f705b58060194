/* SPDX-License-Identifier: MIT
 * The inside of the public objects. The public interface is thin: these hold what the layers below need to have kept,
 * and turn public structures into theirs. */
#ifndef ST_API_API_H
#define ST_API_API_H

#include "base/host.h"
#include "base/log.h"
#include "model/model.h"
#include "stretto/log.h"
#include "stretto/unit.h"
#include "unit/unit.h"

/* A public sink as an inner one. Stays where it is while it is used. */
typedef struct st_api_log {
    stretto_log sink;
    st_log log;
} st_api_log;

/* sink may be NULL. Returns the inner log, NULL for silence. */
const st_log *st_api_log_init(st_api_log *log, const stretto_log *sink);

struct stretto_model {
    st_gguf *gguf;
    st_model *model;
    st_api_log log;
};

struct stretto_unit {
    st_unit *unit;
    bool has_host;
    st_host host; /* whose cores a CPU unit's are */
    st_api_log log;
};

/* A public step as an inner one; user must stay as long as the result is used. */
st_step st_api_step(const stretto_step *user);
/* The public step behind an inner one, NULL when it is one of the library's own. */
const stretto_step *st_api_step_user(const st_step *step);

#endif
