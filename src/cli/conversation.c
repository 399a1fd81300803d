#include "cli/conversation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/utf8.h"

/* A JSON string of any bytes: what is no UTF-8 becomes U+FFFD. NULL: no memory. */
static json_t *string_of(const char *s, size_t n) {
    char *valid = malloc(n * 3 + 1);
    size_t used = 0;
    for (size_t at = 0, len; valid && at < n; at += len) {
        uint32_t cp;
        len = npu_utf8_decode(s + at, n - at, &cp);
        used += npu_utf8_encode(cp == UINT32_MAX ? 0xFFFD : cp, valid + used);
    }
    json_t *string = valid ? json_stringn(valid, used) : NULL;
    free(valid);
    return string;
}

static npu_status add(cli_conversation *c, const char *role, const char *text, size_t size, npu_error *err) {
    json_t *message = json_pack("{s:s, s:o}", "role", role, "content", string_of(text, size));
    if (message && json_array_append_new(c->messages, message) == 0) return NPU_OK;
    return npu_fail(err, NPU_NO_MEMORY, "run.memory", "no memory for the conversation");
}

static npu_status open_chat(const cli_options *o, cli_conversation *c, const char *template, size_t size,
                            npu_error *err) {
    npu_status status = npu_chat_create(c->model, template, size, &c->chat, err);
    if (status == NPU_REFUSED && !template && !o->system) {
        if (!o->quiet) fprintf(stderr, "npu: the model has no chat template: the text is continued as it is\n");
        return NPU_OK;
    }
    if (status != NPU_OK) return status;
    c->messages = json_array();
    if (o->system) NPU_TRY(add(c, "system", o->system, strlen(o->system), err));
    c->n_first = json_array_size(c->messages);
    return NPU_OK;
}

int cli_conversation_open(const cli_options *o, const npu_model *model, cli_conversation *c) {
    char *template = NULL;
    size_t size = 0;
    npu_error err = {0};
    *c = (cli_conversation){.model = model};
    if (o->raw) return 0;
    int bad = o->template ? cli_read_file(o->template, &template, &size) : 0;
    if (bad) return bad;
    npu_status status = open_chat(o, c, template, size, &err);
    free(template);
    return status == NPU_OK ? 0 : cli_fail(&err);
}

void cli_conversation_close(cli_conversation *c) {
    npu_chat_free(c->chat);
    json_decref(c->messages);
    *c = (cli_conversation){0};
}

void cli_conversation_restart(cli_conversation *c) {
    while (json_array_size(c->messages) > c->n_first) json_array_remove(c->messages, json_array_size(c->messages) - 1);
}

static npu_status continued(const cli_conversation *c, const char *text, size_t size, const int32_t *before,
                            size_t n_before, int32_t **ids, size_t *n, npu_error *err) {
    unsigned flags = NPU_TOKENIZE_SPECIAL | (n_before ? 0 : NPU_TOKENIZE_BOS);
    NPU_TRY(npu_model_tokenize(c->model, text, size, flags, NULL, 0, n, err));
    *ids = malloc((n_before + *n + 1) * sizeof **ids);
    if (!*ids) return npu_fail(err, NPU_NO_MEMORY, "run.memory", "no memory for %zu tokens", *n);
    if (n_before) memcpy(*ids, before, n_before * sizeof **ids);
    NPU_TRY(npu_model_tokenize(c->model, text, size, flags, *ids + n_before, *n, n, err));
    *n += n_before;
    return NPU_OK;
}

static npu_status rendered(const cli_conversation *c, int32_t **ids, size_t *n, npu_error *err) {
    npu_chat_prompt prompt;
    char *json = npu_json_text(c->messages, JSON_COMPACT);
    if (!json) return npu_fail(err, NPU_NO_MEMORY, "run.memory", "no memory for the conversation");
    npu_status status = npu_chat_render(c->chat, json, strlen(json), &prompt, err);
    free(json);
    if (status != NPU_OK) return status;
    *ids = prompt.ids;
    *n = prompt.n_ids;
    prompt.ids = NULL;
    npu_chat_prompt_clear(&prompt);
    return NPU_OK;
}

npu_status cli_conversation_say(cli_conversation *c, const char *text, size_t size, const int32_t *before,
                                size_t n_before, int32_t **ids, size_t *n, npu_error *err) {
    *ids = NULL;
    *n = 0;
    if (c->chat) NPU_TRY(add(c, "user", text, size, err));
    npu_status status = c->chat ? rendered(c, ids, n, err) : continued(c, text, size, before, n_before, ids, n, err);
    if (status == NPU_OK && !*n)
        status =
            npu_fail(err, NPU_INVALID, "run.empty", "the prompt is empty and the model has no token to begin with");
    if (status == NPU_OK) return NPU_OK;
    free(*ids);
    *ids = NULL;
    cli_conversation_take_back(c);
    return status;
}

npu_status cli_conversation_heard(cli_conversation *c, const char *text, size_t size, npu_error *err) {
    return c->chat ? add(c, "assistant", text, size, err) : NPU_OK;
}

void cli_conversation_take_back(cli_conversation *c) {
    if (c->chat && json_array_size(c->messages)) json_array_remove(c->messages, json_array_size(c->messages) - 1);
}
