#include "cli/generate.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/utf8.h"
#include "cli/sampling.h"

static bool is_utf8(const char *s, size_t n) {
    uint32_t cp = 0;
    for (size_t at = 0; at < n && cp != UINT32_MAX;) at += npu_utf8_decode(s + at, n - at, &cp);
    return cp != UINT32_MAX;
}

static void show_progress(void *user, uint32_t done, uint32_t n) {
    const cli_generator *g = user;
    cli_progress(g->options, "prompt token", done, n);
}

int cli_generator_open(const cli_options *o, const cli_session *session, bool continues, cli_generator *g) {
    npu_model_info info;
    npu_error err = {0};
    size_t lengths[CLI_LIST_MAX], n = 0;
    *g = (cli_generator){
        .options = o, .context = session->context, .out = o->json ? NULL : stdout, .last = -1, .limit = -1};
    if (o->given[CLI_OPT_time_limit]) g->limit = o->time_limit;
    g->most = o->given[CLI_OPT_max_tokens] ? o->max_tokens : -1;
    for (; o->stop[n]; n++) {
        lengths[n] = strlen(o->stop[n]);
        if (!is_utf8(o->stop[n], lengths[n])) return cli_usage("--stop: string %zu is not valid UTF-8", n + 1);
    }
    npu_model_get_info(session->model, &info);
    npu_context_decode_progress(session->context, show_progress, g);
    int bad = cli_sampler_open(o, info.n_vocab, &g->sampler);
    if (!bad) bad = cli_open_grammar(session->model, o->json_schema, o->json_mode, &g->grammar);
    if (bad) return bad;
    if (npu_detokenizer_create(session->model->tokenizer, (npu_decode_flags){.continues = continues}, &g->detokenizer,
                               &err) != NPU_OK ||
        npu_stop_create(o->stop, lengths, n, &g->stop, &err) != NPU_OK)
        return cli_fail(&err);
    return 0;
}

void cli_generator_close(cli_generator *g) {
    if (g->context) npu_context_decode_progress(g->context, NULL, NULL);
    npu_sampler_free(g->sampler);
    npu_detokenizer_free(g->detokenizer);
    npu_stop_free(g->stop);
    npu_grammar_free(g->grammar);
    npu_text_free(&g->text);
    npu_token_list_free(&g->tokens);
}

npu_status cli_generator_restart(cli_generator *g, npu_error *err) {
    g->tokens.n = 0;
    npu_sampler_reset(g->sampler, (uint64_t)g->options->seed);
    return npu_seq_truncate(g->context, 0, 0, err);
}

static void give(void *context, const char *text, size_t n) {
    cli_generator *g = context;
    if (g->out && (fwrite(text, 1, n, g->out) != n || fflush(g->out) != 0)) g->lost = true;
    npu_status status = npu_text_add(&g->text, text, n, NULL);
    if (g->status == NPU_OK) g->status = status;
}

/* Computes what of the prompt is not in the context yet; at least its last token. */
static npu_status prefill(cli_generator *g, const int32_t *prompt, size_t n, cli_figures *f, npu_error *err) {
    uint32_t ctx = npu_context_ctx(g->context), held = npu_seq_length(g->context, 0), same = 0;
    if (n > ctx)
        return npu_fail(err, NPU_REFUSED, "run.ctx_too_small",
                        "the prompt has %zu tokens, the context has room for %u (--ctx)", n, ctx);
    while (same + 1 < n && same < held && g->tokens.ids[same] == prompt[same]) same++;
    npu_row *rows = calloc(n, sizeof *rows);
    if (!rows) return npu_fail(err, NPU_NO_MEMORY, "run.memory", "no memory for %zu tokens", n);
    for (size_t i = same; i < n; i++) rows[i].token = prompt[i];
    rows[n - 1].logits = true;
    npu_status status = npu_seq_truncate(g->context, 0, same, err);
    g->tokens.n = same;
    if (status == NPU_OK) status = npu_decode(g->context, rows + same, (uint32_t)n - same, err);
    cli_progress(g->options, "prompt token", n, n);
    for (size_t i = same; i < n && status == NPU_OK; i++) {
        npu_sampler_accept(g->sampler, prompt[i]);
        status = npu_token_list_add(&g->tokens, prompt[i], err);
    }
    f->reused = same;
    free(rows);
    return status;
}

/* Whether the answer ends before another token is computed. */
static bool ends(const cli_generator *g, double started, uint32_t tokens, cli_end *end) {
    if (cli_interrupted) return *end = CLI_END_INTERRUPT, true;
    if (g->lost) return *end = CLI_END_LOST, true;
    if (g->most >= 0 && tokens >= g->most) return *end = CLI_END_TOKENS, true;
    if (g->limit >= 0 && cli_now() - started >= g->limit) return *end = CLI_END_TIME, true;
    return false;
}

static npu_status next_token(cli_generator *g, const npu_model *model, cli_figures *f, bool *done, npu_error *err) {
    const char *text;
    size_t len;
    int32_t id;
    const uint64_t *allowed = NULL;
    if (g->grammar) NPU_TRY(npu_grammar_allowed(g->grammar, &allowed, err));
    NPU_TRY(npu_sampler_sample(g->sampler, npu_logits(g->context, 0), allowed, &id, err));
    if (g->grammar) NPU_TRY(npu_grammar_accept(g->grammar, id, err));
    npu_sampler_accept(g->sampler, id);
    NPU_TRY(npu_token_list_add(&g->tokens, id, err));
    g->last = id;
    if (npu_model_token_is_end(model, id)) {
        f->end = CLI_END_OF_TEXT;
        *done = true;
        return NPU_OK;
    }
    f->tokens++;
    NPU_TRY(npu_detokenizer_push(g->detokenizer, id, &text, &len, err));
    if (npu_stop_push(g->stop, text, len, give, g)) {
        f->end = CLI_END_STOP;
        *done = true;
    } else if (g->grammar && npu_grammar_is_finished(g->grammar)) {
        f->end = CLI_END_OF_TEXT;
        *done = true;
    }
    return NPU_OK;
}

static uint64_t mapped_bytes(const cli_generator *g) {
    npu_counters c;
    npu_context_counters(g->context, &c);
    return c.mapped_bytes;
}

npu_status cli_generate(cli_generator *g, const int32_t *prompt, size_t n, cli_figures *f, npu_error *err) {
    double started = cli_now();
    bool done = false;
    *f = (cli_figures){.prompt_tokens = (uint32_t)n};
    g->text.n = 0;
    if (g->grammar) NPU_TRY(npu_grammar_reset(g->grammar, err));
    NPU_TRY(prefill(g, prompt, n, f, err));
    g->last = -1;
    uint64_t mapped = mapped_bytes(g);
    double prefilled = cli_now();
    f->prefill_s = prefilled - started;
    while (!done && !ends(g, started, f->tokens, &f->end)) {
        if (g->last >= 0) {
            if (npu_seq_length(g->context, 0) == npu_context_ctx(g->context)) {
                f->end = CLI_END_CONTEXT;
                break;
            }
            npu_row row = {.token = g->last, .logits = true};
            npu_status status = npu_decode(g->context, &row, 1, err);
            if (status == NPU_CANCELLED) continue; /* ends() sees the interrupt */
            if (status != NPU_OK) return status;
            f->steps++;
        }
        NPU_TRY(next_token(g, g->context->model, f, &done, err));
    }
    f->decode_s = cli_now() - prefilled;
    if (f->steps) f->remapped_bytes = (double)(mapped_bytes(g) - mapped) / f->steps;
    f->cut = g->grammar && f->end != CLI_END_OF_TEXT; /* one that is whole may have had more to come: "10" of "100" */
    const char *text;
    size_t len;
    npu_detokenizer_finish(g->detokenizer, &text, &len);
    npu_stop_push(g->stop, text, len, give, g);
    npu_stop_finish(g->stop, give, g);
    return g->status == NPU_OK ? NPU_OK : npu_fail(err, g->status, "run.memory", "no memory for the answer's text");
}

const char *cli_end_text(cli_end end) {
    static const char *const texts[] = {
        "end of text",          "--max-tokens reached", "end of the context (--ctx)", "a --stop string",
        "--time-limit reached", "interrupted",          "the reader of the text left"};
    return texts[end];
}
