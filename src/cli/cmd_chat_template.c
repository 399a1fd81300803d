/* npu chat-template: prints the prompt that a model's template makes of messages. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int print(const cli_options *o, const npu_chat_prompt *prompt) {
    if (!o->json) {
        (void)!fwrite(prompt->text, 1, prompt->size, stdout); /* main looks at the stream when the command is done */
        return CLI_EXIT_OK;
    }
    json_t *ids = json_array();
    for (size_t i = 0; i < prompt->n_ids; i++) cli_json_add(&ids, json_integer(prompt->ids[i]));
    json_t *root = json_pack("{s:s%, s:o}", "text", prompt->text, prompt->size, "ids", ids);
    return cli_print_json(root, JSON_COMPACT);
}

/* Returns 0 or an exit code after printing. */
static int render(const cli_options *o, const npu_model *model, const char *template, size_t template_size,
                  const char *messages, size_t size) {
    npu_chat *chat;
    npu_chat_prompt prompt;
    npu_error err = {0};
    if (npu_chat_create(model, template, template_size, &chat, &err) != NPU_OK) return cli_fail(&err);
    npu_status status = npu_chat_render(chat, messages, size, &prompt, &err);
    bool of_messages = !strcmp(err.code, "chat.json");
    int bad = status == NPU_OK ? print(o, &prompt) : of_messages ? cli_fail_in(o->messages, &err) : cli_fail(&err);
    npu_chat_prompt_clear(&prompt);
    npu_chat_free(chat);
    return bad;
}

int cli_chat_template(const cli_options *o) {
    cli_session session;
    char *messages = NULL, *template = NULL;
    size_t size = 0, template_size = 0;
    if (!o->messages) return cli_usage("no messages: give them with --messages FILE");
    int bad = cli_read_file(o->messages, &messages, &size);
    if (!bad && o->template) bad = cli_read_file(o->template, &template, &template_size);
    if (!bad) {
        bad = cli_open_model(o, true, &session);
        if (!bad) bad = render(o, session.model, template, template_size, messages, size);
        bad = cli_close(&session, bad);
    }
    free(messages);
    free(template);
    return bad;
}
