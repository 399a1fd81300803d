/* Conversations as prompts: the model's own chat template (or another), rendered and turned into tokens.
 *
 * Templates are Jinja; docs of the model's author say what messages they take. Names of special tokens are tokens where
 * the template writes them, and plain text inside the messages, which users type.
 */
#ifndef NPU_CHAT_H
#define NPU_CHAT_H

#include <stddef.h>
#include <stdint.h>

#include "npu/api.h"
#include "npu/model.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_chat npu_chat;

/* Parses |source|, |size| bytes that stay the caller's, or the model's own template when it is NULL. The model must
 * outlive *out, which any number of threads may use; on failure it is NULL. REFUSED ("chat.none"): the model has no
 * template: bring one, or go without; INVALID ("chat.syntax", with line and column; "chat.utf8"; "gguf.key_type": the
 * model's is no text), RANGE ("chat.limit": nested too deeply), NO_MEMORY; INVALID ("model.no_tokenizer"). */
NPU_API npu_status npu_chat_create(const npu_model *model, const char *source, size_t size, npu_chat **out,
                                   npu_error *err);
NPU_API void npu_chat_free(npu_chat *chat); /* NULL is fine */

/* A rendered prompt, owned by the caller; free with npu_chat_prompt_clear. */
typedef struct npu_chat_prompt {
    char *text; /* |size| bytes and a zero */
    size_t size;
    char *typed;  /* 1 for each byte of text that came from the messages, else 0 */
    int32_t *ids; /* the text as tokens; a begin token by the model's rule, unless the template wrote it */
    size_t n_ids;
} npu_chat_prompt;
/* Leaves it {0}, which may be cleared too. */
NPU_API void npu_chat_prompt_clear(npu_chat_prompt *prompt);

/* |json|: a list of messages, or an object with "messages" and what else the template knows ("tools",
 * "documents", "enable_thinking", …). add_generation_prompt is true unless given; bos_token, eos_token and their like
 * are the model's. With "tools" the model's template "tool_use" is taken, if it has one, and with "chat_template": NAME
 * the one of that name (the key tokenizer.chat_template.NAME); a template given to npu_chat_create is the only one. On
 * failure *out is {0}. INVALID ("chat.json": no such list or object; "chat.render": the template can't be run with
 * these messages; "chat.raised": it refused them, with its own words; "chat.syntax", "chat.utf8": of a template by
 * name), REFUSED ("chat.none": no template of the name asked for), RANGE ("chat.limit": it runs or grows too long;
 * "tokenizer.text_size"), NO_MEMORY. */
NPU_API npu_status npu_chat_render(const npu_chat *chat, const char *json, size_t size, npu_chat_prompt *out,
                                   npu_error *err);

#ifdef __cplusplus
}
#endif
#endif
