/* npu eval: perplexity of a text, and how far a mode or target is from another one (KL divergence per token, top-1
 * agreement). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/kld.h"

enum { ROWS_AT_A_TIME = 32 };

typedef struct eval {
    const cli_options *o;
    uint32_t n_vocab;
    float *reference; /* [ROWS_AT_A_TIME][n_vocab] of the context compared with, or NULL */
    int32_t *ids;     /* the whole text */
    size_t n_ids, at; /* |at|: the text position of row 0 of this piece */
    uint64_t scored, agree;
    double nll, kld, kld_max;
} eval;

static npu_status keep_row(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    (void)err;
    eval *e = user;
    memcpy(e->reference + (size_t)row * n_vocab, logits, n_vocab * sizeof *logits);
    return NPU_OK;
}

static npu_status score_row(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    (void)err;
    eval *e = user;
    size_t next = e->at + row + 1;
    double norm = cli_log_sum(logits, n_vocab);
    if (next < e->n_ids) e->nll += norm - logits[e->ids[next]];
    e->scored += next < e->n_ids;
    if (!e->reference) return NPU_OK;

    const float *r = e->reference + (size_t)row * n_vocab;
    double kld = cli_kld(r, cli_log_sum(r, n_vocab), logits, norm, n_vocab);
    e->kld += kld;
    if (kld > e->kld_max) e->kld_max = kld;
    e->agree += cli_best(r, n_vocab) == cli_best(logits, n_vocab);
    return NPU_OK;
}

/* Windows of the context's length without overlap, in pieces of a few rows so that memory stays small. */
static npu_status run_text(eval *e, npu_context *context, npu_context *against, npu_error *err) {
    uint32_t ctx = npu_context_ctx(context);
    for (size_t i = 0; i < e->n_ids;) {
        size_t in_window = i % ctx, n = e->n_ids - i;
        npu_row rows[ROWS_AT_A_TIME];
        if (n > ROWS_AT_A_TIME) n = ROWS_AT_A_TIME;
        if (n > ctx - in_window) n = ctx - in_window;
        for (size_t k = 0; k < n; k++) rows[k] = (npu_row){.token = e->ids[i + k], .logits = true};
        if (!in_window) NPU_TRY(npu_context_reset(context, err));
        if (!in_window && against) NPU_TRY(npu_context_reset(against, err));
        e->at = i;
        cli_progress(e->o, "token", i, e->n_ids);
        if (against) NPU_TRY(npu_decode_each(against, rows, (uint32_t)n, keep_row, e, err));
        NPU_TRY(npu_decode_each(context, rows, (uint32_t)n, score_row, e, err));
        i += n;
    }
    return NPU_OK;
}

static int print_results(const cli_options *o, const eval *e) {
    double ppl = e->scored ? exp(e->nll / (double)e->scored) : 0, n = (double)e->n_ids;
    if (o->json) {
        json_t *root = json_pack("{s:I, s:f}", "tokens", (json_int_t)e->n_ids, "perplexity", ppl);
        if (e->reference) {
            cli_json_set(&root, "against", json_string(o->against));
            cli_json_set(&root, "kld_mean", json_real(e->kld / n));
            cli_json_set(&root, "kld_max", json_real(e->kld_max));
            cli_json_set(&root, "top1", json_real((double)e->agree / n));
        }
        return cli_print_json(root, JSON_INDENT(1));
    }
    printf("%zu tokens, perplexity %.4f\n", e->n_ids, ppl);
    if (e->reference)
        printf("against %s: KL divergence mean %.6g, max %.6g nats, top-1 agreement %.2f %%\n", o->against, e->kld / n,
               e->kld_max, 100 * (double)e->agree / n);
    return CLI_EXIT_OK;
}

static int read_text(const cli_options *o, const npu_model *model, eval *e) {
    char *text;
    size_t size;
    npu_error err = {0};
    int bad = cli_read_file(o->text, &text, &size);
    if (bad) return bad;
    unsigned flags = NPU_TOKENIZE_BOS;
    if (npu_model_tokenize(model, text, size, flags, NULL, 0, &e->n_ids, &err) != NPU_OK ||
        !(e->ids = malloc((e->n_ids + 1) * sizeof *e->ids)) ||
        npu_model_tokenize(model, text, size, flags, e->ids, e->n_ids, &e->n_ids, &err) != NPU_OK) {
        if (!err.status) npu_fail(&err, NPU_NO_MEMORY, "eval.memory", "%s: no memory for its tokens", o->text);
        bad = cli_fail(&err);
    }
    free(text);
    if (!bad && e->n_ids < 2) bad = cli_usage("--text: %s has fewer than two tokens", o->text);
    return bad;
}

int cli_eval(const cli_options *o) {
    if (!o->text) return cli_usage("npu eval needs --text FILE");
    cli_session session;
    npu_context *against = NULL;
    eval e = {.o = o};
    npu_model_info info;
    npu_error err = {0};
    int bad = cli_open_model(o, true, &session);
    if (!bad) bad = read_text(o, session.model, &e);
    cli_look_for_interrupt();
    if (!bad) bad = cli_open_context(o, &session);
    if (!bad && o->against) bad = cli_open_reference(o, &session, &against);
    if (!bad) {
        npu_model_get_info(session.model, &info);
        e.n_vocab = info.n_vocab;
        if (against) e.reference = malloc((size_t)ROWS_AT_A_TIME * info.n_vocab * sizeof *e.reference);
        if (against && !e.reference) bad = cli_fail(&(npu_error){.status = NPU_NO_MEMORY, .code = "eval.memory"});
    }
    npu_status status = bad ? NPU_OK : run_text(&e, session.context, against, &err);
    if (!bad) cli_progress(o, "token", e.n_ids, e.n_ids);
    if (status != NPU_OK) bad = cli_fail(&err);
    if (!bad) bad = print_results(o, &e);
    free(e.reference);
    free(e.ids);
    npu_context_close(against);
    return cli_close(&session, bad);
}
