/* SPDX-License-Identifier: MIT
 * Making a tokenizer from a file's metadata. */
#include "token/tokenizer.h"

#include "base/error.h"
#include "base/mem.h"
#include "gguf/message.h"

#include <stdio.h>
#include <string.h>

#define KEY_MODEL "tokenizer.ggml.model"
#define KEY_PRE "tokenizer.ggml.pre"
#define KEY_SCORES "tokenizer.ggml.scores"
#define KEY_TEMPLATE "tokenizer.chat_template"
#define KEY_BOS "tokenizer.ggml.bos_token_id"
#define KEY_EOS "tokenizer.ggml.eos_token_id"
#define KEY_EOT "tokenizer.ggml.eot_token_id"
#define KEY_EOM "tokenizer.ggml.eom_token_id"
#define KEY_UNKNOWN "tokenizer.ggml.unknown_token_id"
#define KEY_ADD_BOS "tokenizer.ggml.add_bos_token"
#define KEY_ADD_SPACE "tokenizer.ggml.add_space_prefix"

typedef struct making {
    st_tokenizer *tok;
    const st_gguf *gguf;
    const st_log *log;
    stretto_error *err;
} making;

static int model_read(making *m) {
    static const char *const names[] = {
        [ST_MODEL_BPE] = "gpt2", [ST_MODEL_SPM] = "llama", [ST_MODEL_GEMMA4] = "gemma4"};
    st_str name;
    /* Of a model in parts the first has the tokenizer, and the others say nothing of it. */
    int code = st_gguf_find(m->gguf, KEY_MODEL) ? 0 : st_gguf_require_whole(m->gguf, m->err);
    if (!code) code = st_gguf_str(m->gguf, KEY_MODEL, true, &name, m->err);
    if (code) return code;
    for (int i = ST_MODEL_BPE; i <= ST_MODEL_GEMMA4; i++) {
        if (!st_str_equal(name, names[i])) continue;
        m->tok->model = (enum st_token_model)i;
        return 0;
    }
    return st_gguf_refuse(m->gguf, m->err, "key %s is \"%s\", which is not supported; these are: %s, %s, %s", KEY_MODEL,
                          ST_NAME(name), names[ST_MODEL_BPE], names[ST_MODEL_SPM], names[ST_MODEL_GEMMA4]);
}

/* The id under a key, -1 when it is missing or (with a warning) no token has it. */
static int id_read(making *m, const char *key, int32_t *id) {
    uint32_t value = UINT32_MAX;
    *id = -1;
    int code = st_gguf_u32(m->gguf, key, false, &value, m->err);
    if (code || !st_gguf_find(m->gguf, key)) return code;
    if (value < m->tok->vocab.n)
        *id = (int32_t)value;
    else
        st_warn(m->log, "%s: key %s is %s, but the vocabulary has %s tokens: ignored", m->gguf->path, key,
                ST_NUMBER(value), ST_NUMBER(m->tok->vocab.n));
    return 0;
}

/* SentencePiece models without the key use these ids, if what is there looks like it. */
static int32_t id_by_habit(const st_tokenizer *tok, int32_t id) {
    if (tok->model != ST_MODEL_SPM || (uint32_t)id >= tok->vocab.n) return -1;
    uint8_t type = tok->vocab.type[id];
    return !tok->vocab.has_types || type == ST_TOKEN_CONTROL || type == ST_TOKEN_UNKNOWN ? id : -1;
}

static void end_add(st_tokenizer *tok, int32_t id) {
    if (id < 0 || st_tokenizer_is_end(tok, id) || tok->n_ends == ST_MAX_ENDS) return;
    tok->ends[tok->n_ends++] = id;
}

/* Files often name only one of the tokens that end a turn or a text, and mark some as if they were text (Gemma 4's
 * <eos>). Names that mean nothing else are corrected to control tokens, as llama.cpp does. The others may also be words
 * of a markup (Gemma 3's </s>), so they count only if they are marked. */
static const struct {
    const char *name;
    bool sure;
} end_names[] = {
    {"<|im_end|>", true},    {"<|eot_id|>", true},
    {"<|eom_id|>", true},    {"<|end_of_text|>", true},
    {"<|endoftext|>", true}, {"<end_of_turn>", true},
    {"<turn|>", true},       {"<eos>", true},
    {"<|end|>", true},       {"<|tool_response>", true},
    {"<|return|>", true},    {"<|call|>", true},
    {"</s>", false},         {"<end_of_utterance>", true},
    {"<EOT>", false},        {"[EOT]", false},
    {"[EOS]", false},        {"<｜end▁of▁sentence｜>", true},
};

static void ends_by_name(st_tokenizer *tok) {
    for (size_t i = 0; i < sizeof end_names / sizeof *end_names; i++) {
        int32_t id = st_vocab_find(&tok->vocab, end_names[i].name, strlen(end_names[i].name));
        if (id < 0) continue;
        bool control = tok->vocab.type[id] == ST_TOKEN_CONTROL;
        if (!control && !end_names[i].sure) continue;
        if (!control) st_vocab_set_type(&tok->vocab, id, ST_TOKEN_CONTROL);
        end_add(tok, id);
    }
}

/* Without types in the file, the ids that it names are what is known. */
static void types_by_ids(st_tokenizer *tok) {
    if (tok->vocab.has_types) return;
    if (tok->bos >= 0) st_vocab_set_type(&tok->vocab, tok->bos, ST_TOKEN_CONTROL);
    for (unsigned i = 0; i < tok->n_ends; i++) st_vocab_set_type(&tok->vocab, tok->ends[i], ST_TOKEN_CONTROL);
    if (tok->unknown >= 0) st_vocab_set_type(&tok->vocab, tok->unknown, ST_TOKEN_UNKNOWN);
}

static int ids_read(making *m) {
    static const char *const end_keys[] = {KEY_EOS, KEY_EOT, KEY_EOM};
    st_tokenizer *tok = m->tok;
    int code = id_read(m, KEY_BOS, &tok->bos);
    if (!code) code = id_read(m, KEY_UNKNOWN, &tok->unknown);
    for (int i = 0; !code && i < 3; i++) {
        int32_t id;
        code = id_read(m, end_keys[i], &id);
        end_add(tok, id);
    }
    if (code) return code;
    if (!st_gguf_find(m->gguf, KEY_BOS)) tok->bos = id_by_habit(tok, 1);
    if (!st_gguf_find(m->gguf, KEY_EOS)) end_add(tok, id_by_habit(tok, 2));
    if (!st_gguf_find(m->gguf, KEY_UNKNOWN)) tok->unknown = id_by_habit(tok, 0);
    types_by_ids(tok);
    ends_by_name(tok);
    return 0;
}

/* The token of a byte in models that fall back to bytes: <0xXX>, whatever its type says, or the character itself. */
static int32_t byte_token(st_tokenizer *tok, unsigned char byte) {
    char name[8];
    int len = snprintf(name, sizeof name, "<0x%02X>", byte);
    int32_t id = st_vocab_find(&tok->vocab, name, (size_t)len);
    if (id < 0) return st_vocab_find_text(&tok->vocab, (const char *)&byte, 1);
    if (tok->vocab.type[id] != ST_TOKEN_BYTE) st_vocab_set_type(&tok->vocab, id, ST_TOKEN_BYTE);
    return id;
}

static void bytes_read(making *m) {
    st_tokenizer *tok = m->tok;
    unsigned n_lost = 0, first_lost = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        char spelled[2];
        tok->byte_ids[byte] = tok->model == ST_MODEL_BPE
                                  ? st_vocab_find_text(&tok->vocab, spelled, st_bpe_spell((unsigned char)byte, spelled))
                                  : byte_token(tok, (unsigned char)byte);
        if (tok->byte_ids[byte] < 0 && n_lost++ == 0) first_lost = byte;
    }
    if (n_lost > 0)
        st_info(m->log, "%s: %u of 256 bytes have no token (the first is 0x%02X): where text has them, they are lost",
                m->gguf->path, n_lost, first_lost);
}

static int scores_read(making *m) {
    const st_value *scores;
    int code = st_gguf_array(m->gguf, KEY_SCORES, true, ST_V_F32, &scores, m->err);
    if (code) return code;
    if (scores->count != m->tok->vocab.n)
        return st_gguf_refuse(m->gguf, m->err, "key %s has %s items, but the vocabulary has %s tokens", KEY_SCORES,
                              ST_NUMBER(scores->count), ST_NUMBER(m->tok->vocab.n));
    m->tok->scores = scores->data;
    return 0;
}

static int pre_read(making *m) {
    st_str name = {"default", 7};
    int code = st_gguf_str(m->gguf, KEY_PRE, false, &name, m->err);
    if (code) return code;
    if (!st_gguf_find(m->gguf, KEY_PRE))
        st_warn(m->log, "%s: key %s is missing: words are cut the default way, which may not be the model's",
                m->gguf->path, KEY_PRE);
    code = st_pretokenizer_create(&m->tok->pre, name, true, m->err);
    return code == STRETTO_E_INPUT && m->err ? st_fail_in_file(m->err, m->gguf->path) : code;
}

/* What the model needs besides tokens: scores, or merges and words. */
static int rules_read(making *m) {
    st_tokenizer *tok = m->tok;
    if (tok->model == ST_MODEL_SPM) {
        tok->adds_space = true;
        int code = st_gguf_bool(m->gguf, KEY_ADD_SPACE, false, &tok->adds_space, m->err);
        return code ? code : scores_read(m);
    }
    int code = tok->model == ST_MODEL_BPE ? pre_read(m) : 0;
    return code ? code : st_merges_create(&tok->merges, &tok->vocab, m->gguf, m->log, m->err);
}

static int habits_read(making *m) {
    st_tokenizer *tok = m->tok;
    tok->adds_bos = tok->model == ST_MODEL_BPE ? st_pretokenizer_wants_bos(tok->pre) : true;
    tok->adds_bos = tok->adds_bos && tok->bos >= 0;
    int code = st_gguf_bool(m->gguf, KEY_ADD_BOS, false, &tok->adds_bos, m->err);
    if (code) return code;
    if (tok->model == ST_MODEL_GEMMA4 && !tok->adds_bos && tok->bos >= 0) {
        st_warn(m->log, "%s: key %s is false, but Gemma 4 wants it in front: added", m->gguf->path, KEY_ADD_BOS);
        tok->adds_bos = true;
    }
    if (tok->adds_bos && tok->bos < 0)
        return st_gguf_refuse(m->gguf, m->err, "key %s is true, but no token is named by %s", KEY_ADD_BOS, KEY_BOS);
    return 0;
}

static void template_read(making *m) {
    const st_value *value = st_gguf_find(m->gguf, KEY_TEMPLATE);
    if (!value) return;
    if (value->type == ST_V_STRING)
        m->tok->template_text = (st_str){(const char *)value->data, value->bytes};
    else
        st_warn(m->log, "%s: key %s is %s, wanted string: ignored", m->gguf->path, KEY_TEMPLATE,
                st_value_type_name(value->type));
}

static int tokenizer_make(making *m) {
    int code = model_read(m);
    if (!code) code = st_vocab_create(&m->tok->vocab, m->gguf, m->log, m->err);
    if (!code) code = ids_read(m);
    if (code) return code;
    bytes_read(m);
    code = st_special_create(&m->tok->special, &m->tok->vocab, m->err);
    if (!code) code = rules_read(m);
    if (!code) code = habits_read(m);
    if (!code) template_read(m);
    return code;
}

int st_tokenizer_create(st_tokenizer **out, const st_gguf *gguf, const st_log *log, stretto_error *err) {
    *out = NULL;
    st_tokenizer *tok = st_alloc(1, sizeof *tok);
    if (!tok) return st_fail_memory(err, "the tokenizer", sizeof *tok);
    tok->gguf = gguf;
    tok->template_text = (st_str){"", 0};
    making m = {tok, gguf, log, err};
    int code = tokenizer_make(&m);
    if (code)
        st_tokenizer_destroy(tok);
    else
        *out = tok;
    return code;
}

void st_tokenizer_destroy(st_tokenizer *tok) {
    if (!tok) return;
    st_pretokenizer_destroy(tok->pre);
    st_merges_free(&tok->merges);
    st_special_free(&tok->special);
    st_vocab_free(&tok->vocab);
    st_free(tok);
}

uint32_t st_tokenizer_size(const st_tokenizer *tok) {
    return tok->vocab.n;
}
int32_t st_tokenizer_bos(const st_tokenizer *tok) {
    return tok->bos;
}
bool st_tokenizer_adds_bos(const st_tokenizer *tok) {
    return tok->adds_bos;
}

bool st_tokenizer_is_end(const st_tokenizer *tok, int32_t id) {
    for (unsigned i = 0; i < tok->n_ends; i++)
        if (tok->ends[i] == id) return true;
    return false;
}

st_str st_tokenizer_piece(const st_tokenizer *tok, int32_t id) {
    bool known = id >= 0 && (uint32_t)id < tok->vocab.n;
    return known ? st_vocab_text(&tok->vocab, id) : (st_str){"", 0};
}
