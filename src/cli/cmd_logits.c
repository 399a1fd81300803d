/* npu logits: the logits after every given token, and a greedy continuation: what the reference cases are checked
 * through. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static npu_status write_row(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    (void)row;
    if (user && fwrite(logits, sizeof *logits, n_vocab, user) != n_vocab)
        return npu_fail(err, NPU_IO, "logits.write", "can't write logits: %s", strerror(errno));
    return NPU_OK;
}

typedef struct last_row {
    FILE *out;
    int32_t best;
} last_row;

static npu_status write_and_pick(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    last_row *last = user;
    last->best = 0;
    for (uint32_t i = 1; i < n_vocab; i++)
        if (logits[i] > logits[last->best]) last->best = (int32_t)i;
    return write_row(last->out, row, logits, n_vocab, err);
}

static npu_status decode_greedy(npu_context *context, int64_t n, last_row *last, npu_error *err) {
    last->out = NULL;
    for (int64_t i = 0; i < n; i++) {
        printf("%s%d", i ? "," : "", last->best);
        npu_row row = {.token = last->best, .logits = true};
        if (i + 1 < n) NPU_TRY(npu_decode_each(context, &row, 1, write_and_pick, last, err));
    }
    if (n) putchar('\n');
    return NPU_OK;
}

static npu_status decode_all(npu_context *context, const int32_t *ids, size_t n, last_row *last, npu_error *err) {
    npu_row *rows = calloc(n, sizeof *rows);
    if (!rows) return npu_fail(err, NPU_NO_MEMORY, "logits.memory", "no memory for %zu rows", n);
    for (size_t i = 0; i < n; i++) rows[i] = (npu_row){.token = ids[i], .logits = true};
    npu_status status = npu_decode_each(context, rows, (uint32_t)n, write_and_pick, last, err);
    free(rows);
    return status;
}

/* Before anything is computed or printed: all of it has room. */
static npu_status check_room(npu_context *context, size_t n, int64_t greedy, npu_error *err) {
    uint64_t need = n + (uint64_t)(greedy > 1 ? greedy - 1 : 0); /* the last token is printed, not computed */
    uint32_t ctx = npu_context_ctx(context);
    if (need <= ctx) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "logits.ctx_too_small",
                    "%zu tokens and %lld greedy ones need %llu positions, the context has %u (--ctx)", n,
                    (long long)greedy, (unsigned long long)need, ctx);
}

static int write_logits(const cli_options *o, const int32_t *ids, size_t n) {
    cli_session session;
    npu_error err = {0};
    cli_look_for_interrupt(); /* so that no partial file stays */
    int bad = cli_open_model(o, false, &session);
    if (!bad) bad = cli_open_context(o, &session);
    if (!bad && check_room(session.context, n, o->greedy, &err) != NPU_OK) bad = cli_fail(&err);
    cli_output out = {0};
    if (!bad && o->output) bad = cli_output_open(o->output, &out);
    if (!bad) {
        last_row last = {.out = out.file};
        npu_status status = decode_all(session.context, ids, n, &last, &err);
        if (status == NPU_OK) status = decode_greedy(session.context, o->greedy, &last, &err);
        if (status != NPU_OK) bad = cli_fail(&err);
    }
    bad = cli_output_close(&out, bad);
    return cli_close(&session, bad);
}

int cli_logits(const cli_options *o) {
    int32_t *ids;
    size_t n;
    if (!o->output && !o->greedy) return cli_usage("npu logits needs --output FILE or --greedy N");
    int bad = cli_check_target(o);
    if (!bad)
        bad = cli_read_ids(o->ids, &ids, &n);
    else
        return bad;
    if (!bad && n == 0) bad = cli_usage("--ids: no token id in it");
    if (!bad && n > UINT32_MAX) bad = cli_usage("--ids: too many");
    if (!bad) bad = write_logits(o, ids, n);
    free(ids);
    return bad;
}
