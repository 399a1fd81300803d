/* npu tokenize: text to ids on one line, or ids to text. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

static int print_ids(const npu_model *model, const cli_options *o) {
    char *text;
    size_t size, count = 0;
    npu_error err = {0};
    int bad = cli_read_prompt(o, &text, &size);
    if (bad) return bad;
    if (!text) return cli_usage("no text: give it with --prompt, --file or on standard input");
    unsigned flags = o->no_special ? 0 : NPU_TOKENIZE_BOS | NPU_TOKENIZE_SPECIAL;
    int32_t *ids = NULL;
    if (npu_model_tokenize(model, text, size, flags, NULL, 0, &count, &err) != NPU_OK) {
        bad = cli_fail(&err);
    } else if (!(ids = malloc((count + 1) * sizeof *ids))) {
        bad = cli_error("out of memory");
    } else if (npu_model_tokenize(model, text, size, flags, ids, count, &count, &err) != NPU_OK) {
        bad = cli_fail(&err);
    }
    for (size_t i = 0; !bad && ids && i < count; i++) printf("%s%d", i ? "," : "", ids[i]);
    if (!bad) putchar('\n');
    free(ids);
    free(text);
    return bad;
}

static int print_token(const npu_model *model, int32_t id) {
    size_t len = npu_model_token_bytes(model, id, true, NULL, 0);
    char *bytes = malloc(len + 1);
    if (!bytes) return cli_error("out of memory");
    npu_model_token_bytes(model, id, true, bytes, len);
    size_t written = fwrite(bytes, 1, len, stdout);
    free(bytes);
    return written == len ? 0 : cli_error("can't write to standard output");
}

static int print_text(const npu_model *model, const cli_options *o) {
    int32_t *ids;
    size_t n;
    npu_model_info info;
    npu_model_get_info(model, &info);
    int bad = cli_read_ids(o->ids, &ids, &n);
    for (size_t i = 0; !bad && i < n; i++) {
        if ((uint32_t)ids[i] >= info.n_vocab)
            bad = cli_usage("--ids: %d is not below the vocabulary's %u", ids[i], info.n_vocab);
        else
            bad = print_token(model, ids[i]);
    }
    if (!bad) putchar('\n');
    free(ids);
    return bad;
}

int cli_tokenize(const cli_options *o) {
    cli_session session;
    if (o->ids && !o->detokenize) return cli_usage("--ids needs --detokenize");
    int bad = cli_open_model(o, true, &session);
    if (!bad) bad = o->detokenize ? print_text(session.model, o) : print_ids(session.model, o);
    return cli_close(&session, bad);
}
