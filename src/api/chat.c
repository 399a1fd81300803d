/* Chat templates for the public interface (npu/chat.h): the model's template, variables from JSON, the prompt as
 * tokens.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "chat/template.h"

static const char template_key[] = "tokenizer.chat_template";

struct npu_chat {
    const npu_model *model;
    npu_template *template;
    bool own; /* the model's: it may have others by name */
};

npu_status npu_chat_create(const npu_model *model, const char *source, size_t size, npu_chat **out, npu_error *err) {
    npu_gguf_str own = {0};
    *out = NULL;
    if (!model->tokenizer)
        return npu_fail(err, NPU_INVALID, "model.no_tokenizer", "the model was opened without its tokenizer");
    bool is_own = source == NULL;
    if (is_own) {
        npu_status status = npu_gguf_get_str(model->gguf, template_key, &own, err);
        if (status == NPU_NOT_FOUND) return npu_fail(err, NPU_REFUSED, "chat.none", "the model has no chat template");
        if (status != NPU_OK) return status;
        source = own.data;
        size = own.size;
    }
    npu_chat *chat = calloc(1, sizeof *chat);
    if (!chat) return npu_fail(err, NPU_NO_MEMORY, "chat.no_memory", "no memory for the chat template");
    chat->model = model;
    chat->own = is_own;
    npu_status status = npu_template_create(source, size, &chat->template, err);
    if (status != NPU_OK) {
        npu_chat_free(chat);
        return status;
    }
    *out = chat;
    return NPU_OK;
}

void npu_chat_free(npu_chat *chat) {
    if (!chat) return;
    npu_template_free(chat->template);
    free(chat);
}

void npu_chat_prompt_clear(npu_chat_prompt *prompt) {
    free(prompt->text);
    free(prompt->typed);
    free(prompt->ids);
    *prompt = (npu_chat_prompt){0};
}

/* The JSON text as an object of variables. */
static npu_status parse(const char *json, size_t size, json_t **out, npu_error *err) {
    json_error_t where;
    json_t *root = json_loadb(json, size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &where);
    *out = NULL;
    if (!root) return npu_fail(err, NPU_INVALID, "chat.json", "messages: line %d: %s", where.line, where.text);
    if (json_is_array(root)) {
        json_t *object = json_object();
        if (!object || json_object_set_new(object, "messages", root) != 0) {
            json_decref(object);
            return npu_fail(err, NPU_NO_MEMORY, "chat.no_memory", "no memory for the messages");
        }
        root = object;
    }
    if (!json_is_array(json_object_get(root, "messages"))) {
        json_decref(root);
        return npu_fail(err, NPU_INVALID, "chat.json", "the messages are no list, nor an object with \"messages\"");
    }
    *out = root;
    return NPU_OK;
}

/* What the model knows itself, unless it is given. */
static bool add_defaults(const npu_tokenizer *tok, json_t *variables) {
    static const struct {
        const char *name;
        npu_token_role role;
    } tokens[] = {{"bos_token", NPU_TOKEN_ROLE_BOS}, {"eos_token", NPU_TOKEN_ROLE_EOS},
                  {"unk_token", NPU_TOKEN_ROLE_UNK}, {"sep_token", NPU_TOKEN_ROLE_SEP},
                  {"pad_token", NPU_TOKEN_ROLE_PAD}, {"mask_token", NPU_TOKEN_ROLE_MASK}};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        size_t n;
        const char *name = npu_tokenizer_name(tok, npu_tokenizer_role(tok, tokens[i].role), &n);
        if (!name || json_object_get(variables, tokens[i].name)) continue;
        json_t *s = json_stringn(name, n); /* NULL when it is not UTF-8 */
        if (s && json_object_set_new(variables, tokens[i].name, s) != 0) return false;
    }
    return json_object_get(variables, "add_generation_prompt") ||
           json_object_set_new(variables, "add_generation_prompt", json_true()) == 0;
}

static npu_status tokenize(const npu_tokenizer *tok, npu_chat_prompt *p, npu_error *err) {
    npu_token_list list = {0};
    int32_t bos = npu_tokenizer_role(tok, NPU_TOKEN_ROLE_BOS);
    npu_encode_flags flags = {.parse_special = true, .typed = p->typed};
    npu_status status = NPU_OK;
    if (npu_tokenizer_adds_bos(tok)) status = npu_token_list_add(&list, bos, err);
    size_t before = list.n;
    if (status == NPU_OK) status = npu_tokenizer_encode(tok, p->text, p->size, flags, &list, err);
    if (status != NPU_OK) {
        npu_token_list_free(&list);
        return status;
    }
    bool twice = before && list.n > before && list.ids[before] == bos;
    p->n_ids = list.n - twice;
    p->ids = list.ids;
    if (twice) memmove(p->ids, p->ids + 1, p->n_ids * sizeof *p->ids);
    return NPU_OK;
}

/* The template that the variables ask for, *named to be freed, or NULL for the model's main one: "chat_template" names
 * one; with "tools" it is the model's template for tool use, if there is one. */
static npu_status named_template(const npu_chat *chat, const json_t *variables, npu_template **named, npu_error *err) {
    const json_t *asked = json_object_get(variables, "chat_template"), *tools = json_object_get(variables, "tools");
    const char *name = json_is_string(asked)           ? json_string_value(asked)
                       : tools && !json_is_null(tools) ? "tool_use"
                                                       : NULL;
    char key[128];
    npu_gguf_str source;
    *named = NULL;
    if (asked && !json_is_string(asked))
        return npu_fail(err, NPU_INVALID, "chat.json", "\"chat_template\" is the name of one of the model's templates");
    if (!name || (asked && !strcmp(name, "default"))) return NPU_OK;
    if (asked && !chat->own)
        return npu_fail(err, NPU_INVALID, "chat.json", "\"chat_template\" is there, and another template is given");
    if (snprintf(key, sizeof key, "%s.%s", template_key, name) >= (int)sizeof key)
        return npu_fail(err, NPU_INVALID, "chat.json", "\"chat_template\" is a very long name");
    if (!chat->own || (!asked && !npu_gguf_find(chat->model->gguf, key))) return NPU_OK;
    npu_status status = npu_gguf_get_str(chat->model->gguf, key, &source, err);
    if (status == NPU_NOT_FOUND)
        return npu_fail(err, NPU_REFUSED, "chat.none", "the model has no chat template \"%s\": no key %s", name, key);
    if (status != NPU_OK) return status;
    return npu_template_create(source.data, source.size, named, err);
}

static npu_status render(const npu_chat *chat, json_t *variables, npu_chat_prompt *out, npu_error *err) {
    npu_template *named;
    NPU_TRY(named_template(chat, variables, &named, err));
    npu_status status =
        npu_template_render(named ? named : chat->template, variables, NULL, &out->text, &out->size, &out->typed, err);
    npu_template_free(named);
    return status;
}

npu_status npu_chat_render(const npu_chat *chat, const char *json, size_t size, npu_chat_prompt *out, npu_error *err) {
    const npu_tokenizer *tok = chat->model->tokenizer;
    json_t *variables;
    *out = (npu_chat_prompt){0};
    NPU_TRY(parse(json, size, &variables, err));
    npu_status status = add_defaults(tok, variables)
                            ? render(chat, variables, out, err)
                            : npu_fail(err, NPU_NO_MEMORY, "chat.no_memory", "no memory for the messages");
    json_decref(variables);
    if (status == NPU_OK) status = tokenize(tok, out, err);
    if (status != NPU_OK) npu_chat_prompt_clear(out);
    return status;
}
