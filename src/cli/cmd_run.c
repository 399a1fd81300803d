/* npu run: answers or continues one prompt, or talks on a terminal until its end. */
#include <editline/readline.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/conversation.h"
#include "cli/generate.h"
#include "cli/sampling.h"

enum { SMALL = 1 << 20 };

static double rate(uint32_t tokens, double seconds) {
    return seconds > 0 ? tokens / seconds : 0;
}

static const char *plural(uint32_t n) {
    return n == 1 ? "" : "s";
}

static void print_figures(const cli_options *o, const cli_figures *f) {
    if (f->cut) fprintf(stderr, "\nnpu: the JSON is cut off: %s\n", cli_end_text(f->end));
    if (o->quiet) return;
    char kept[40] = "";
    if (f->reused) snprintf(kept, sizeof kept, ", %u of them kept", f->reused);
    char speed[40] = ""; /* of one token there is none: it comes with the prompt */
    if (f->steps) snprintf(speed, sizeof speed, ", %.1f tok/s", rate(f->steps, f->decode_s));
    char remapped[48] = ""; /* nothing unless weights slide through the NPU's window */
    if (f->remapped_bytes >= CLI_REMAPPED_LEAST)
        snprintf(remapped, sizeof remapped, ", %.1f MiB a token mapped anew", f->remapped_bytes / CLI_MIB);
    fprintf(stderr, "\n[prompt %u token%s%s, %.1f tok/s; answer %u token%s%s%s; %s]\n", f->prompt_tokens,
            plural(f->prompt_tokens), kept, rate(f->prompt_tokens - f->reused, f->prefill_s), f->tokens,
            plural(f->tokens), speed, remapped, cli_end_text(f->end));
}

static int print_json(const cli_generator *g, const cli_figures *f, const cli_session *session) {
    npu_counters c;
    npu_context_counters(session->context, &c);
    json_t *root = json_pack(
        "{s:s%, s:s, s:b, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:f}", "text", g->text.data ? g->text.data : "", g->text.n,
        "end", cli_end_text(f->end), "cut", f->cut, "prompt_tokens", (json_int_t)f->prompt_tokens, "tokens",
        (json_int_t)f->tokens, "prefill_tok_s", rate(f->prompt_tokens - f->reused, f->prefill_s), "decode_tok_s",
        rate(f->steps, f->decode_s), "ops_device", (json_int_t)c.ops_device, "ops_host", (json_int_t)c.ops_host,
        "ops_fallback", (json_int_t)c.ops_fallback, "remapped_bytes_per_token", f->remapped_bytes);
    return cli_print_json(root, JSON_INDENT(1));
}

/* A text that cannot fit is refused by its size, before the minute that rendering and tokenizing it would take. Small
 * ones are left to the count of their tokens, which is exact. */
static npu_status check_size(const cli_session *session, const char *text, size_t size, npu_error *err) {
    npu_model_info info;
    size_t longest = 1, solid = 0, ctx = npu_context_ctx(session->context);
    if (size < SMALL) return NPU_OK;
    npu_model_get_info(session->model, &info);
    for (uint32_t id = 0; id < info.n_vocab; id++) {
        size_t n = npu_model_token_bytes(session->model, (int32_t)id, true, NULL, 0);
        if (n > longest) longest = n;
    }
    for (size_t i = 0; i < size; i++) solid += (unsigned char)text[i] > ' '; /* some tokens swallow white space */
    if (solid / longest <= ctx) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "run.ctx_too_small",
                    "the prompt has %zu bytes; the context has room for %zu tokens (--ctx), of at most %zu bytes", size,
                    ctx, longest);
}

static int answer(const cli_options *o, cli_session *session, cli_conversation *c, cli_generator *g, const char *text,
                  size_t size) {
    int32_t *ids;
    size_t n;
    npu_error err = {0};
    cli_figures figures;
    if (check_size(session, text, size, &err) != NPU_OK) return cli_fail(&err);
    if (cli_conversation_say(c, text, size, g->tokens.ids, g->tokens.n, &ids, &n, &err) != NPU_OK)
        return cli_fail(&err);
    npu_status status = cli_generate(g, ids, n, &figures, &err);
    free(ids);
    if (status == NPU_OK) status = cli_conversation_heard(c, g->text.data ? g->text.data : "", g->text.n, &err);
    if (status != NPU_OK) {
        cli_conversation_take_back(c);
        return cli_fail(&err);
    }
    int bad = 0;
    if (o->json)
        bad = print_json(g, &figures, session);
    else
        putchar('\n');
    print_figures(o, &figures);
    return bad || figures.end != CLI_END_INTERRUPT ? bad : CLI_EXIT_CANCELLED;
}

/* The next line of the user, NULL at the end. Ctrl-C drops what was typed so far. */
static char *next_line(void) {
    for (;;) {
        cli_interrupted = 0;
        char *line = readline("> ");
        if (line || !cli_interrupted) return line;
        putchar('\n');
    }
}

static int begin_anew(cli_conversation *c, cli_generator *g) {
    npu_error err = {0};
    cli_conversation_restart(c);
    return cli_generator_restart(g, &err) == NPU_OK ? 0 : cli_fail(&err);
}

/* What is refused leaves all as it was; once something stands in the context, that may be for want of room. */
static int say(const cli_options *o, cli_session *session, cli_conversation *c, cli_generator *g, const char *line) {
    if (!strcmp(line, "/new")) return begin_anew(c, g);
    int bad = answer(o, session, c, g, line, strlen(line));
    if (bad == CLI_EXIT_REFUSED && !o->quiet && npu_seq_length(session->context, 0))
        fprintf(stderr, "npu: a shorter line may do; /new forgets all of this and begins anew\n");
    return bad == CLI_EXIT_CANCELLED || bad == CLI_EXIT_REFUSED ? 0 : bad;
}

static int talk(const cli_options *o, cli_session *session, cli_conversation *c, cli_generator *g) {
    if (!o->quiet)
        fprintf(stderr, "%s. /new begins anew, Ctrl-C ends an answer, Ctrl-D leaves.\n",
                c->chat ? "Each line is a message" : "Each line continues the text");
    setlocale(LC_CTYPE, ""); /* for readline: which bytes are one character */
    using_history();
    for (char *line; (line = next_line()); free(line)) {
        if (!*line) continue;
        add_history(line);
        int bad = say(o, session, c, g, line);
        if (bad) {
            free(line);
            return bad;
        }
    }
    putchar('\n');
    return 0;
}

int cli_run(const cli_options *o) {
    char *prompt = NULL;
    size_t size = 0;
    if (!o->model) return cli_usage("no model: give one with --model FILE");
    int bad = cli_check_sampling(o);
    if (!bad) bad = cli_check_target(o);
    if (!bad) bad = cli_read_prompt(o, &prompt, &size);
    if (!bad && prompt && !size) bad = cli_usage("the prompt is empty");
    if (bad) {
        free(prompt);
        return bad;
    }

    cli_session session = {0};
    cli_generator g = {0};
    cli_conversation c = {0};
    cli_look_for_interrupt();
    bad = cli_open_model(o, true, &session);
    if (!bad) bad = cli_conversation_open(o, session.model, &c);
    if (!bad) bad = cli_open_context(o, &session);
    if (!bad) bad = cli_generator_open(o, &session, !c.chat, &g);
    if (!bad) bad = prompt ? answer(o, &session, &c, &g, prompt, size) : talk(o, &session, &c, &g);
    cli_generator_close(&g);
    cli_conversation_close(&c);
    bad = cli_close(&session, bad);
    free(prompt);
    return bad;
}
