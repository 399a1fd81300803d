/* The prompts of npu run: a conversation through a chat template, or plain text that is continued. Either way a prompt
 * is the whole text from its beginning; what of it is computed already is the generator's business. */
#ifndef NPU_CLI_CONVERSATION_H
#define NPU_CLI_CONVERSATION_H

#include <jansson.h>

#include "cli/cli.h"

typedef struct cli_conversation {
    const npu_model *model;
    npu_chat *chat;   /* NULL: plain text */
    json_t *messages; /* so far */
    size_t n_first;   /* of them, before anything was said: what --system is */
} cli_conversation;

/* As the flags say: --raw, --template, --system. A model without a template is continued plainly, with a note, but
 * --system is then refused. Returns 0 or an exit code after printing; close even after a failure. */
int cli_conversation_open(const cli_options *o, const npu_model *model, cli_conversation *out);
void cli_conversation_close(cli_conversation *c);
/* Forgets what was said and heard. */
void cli_conversation_restart(cli_conversation *c);

/* The prompt after |text| was said, as tokens that the caller frees. |before|: the |n_before| tokens so far, which
 * plain text continues. */
npu_status cli_conversation_say(cli_conversation *c, const char *text, size_t size, const int32_t *before,
                                size_t n_before, int32_t **ids, size_t *n, npu_error *err);

/* What the model answered; without this the last thing said is taken back. */
npu_status cli_conversation_heard(cli_conversation *c, const char *text, size_t size, npu_error *err);
void cli_conversation_take_back(cli_conversation *c);

#endif
