/* Decoding: a batch of rows is checked as a whole, cut in steps, run, and becomes part of its sequences when all of it
 * was computed.
 */
#include <string.h>

#include "api/api.h"
#include "wire/math64.h"

/* One call of npu_decode or npu_decode_each. */
typedef struct decoding {
    npu_context *c;
    const npu_row *rows;
    uint32_t n, done;
    npu_logits_fn *sink; /* NULL: logits are kept in the context */
    void *user;
    bool single_step;
} decoding;

/* Reserves the rows' places, which are the caller's to give back. */
static npu_status reserve_rows(npu_context *c, const npu_row *rows, uint32_t n, npu_error *err) {
    npu_state *s = &c->instance.state;
    for (uint32_t i = 0; i < n; i++) {
        if (rows[i].seq >= s->n_seq)
            return npu_fail(err, NPU_INVALID, "decode.seq", "row %u: sequence %u, but the context has %u", i,
                            rows[i].seq, s->n_seq);
        if (rows[i].token < 0 || (uint32_t)rows[i].token >= c->model->h.n_vocab)
            return npu_fail(err, NPU_INVALID, "decode.token", "row %u: token %d, but the vocabulary has %u", i,
                            rows[i].token, c->model->h.n_vocab);
        npu_state_reserve(s, rows[i].seq);
    }
    return npu_state_check_room(s, err);
}

static npu_status check_rows(npu_context *c, const npu_row *rows, uint32_t n, npu_error *err) {
    npu_status status = reserve_rows(c, rows, n, err);
    npu_state_rollback(&c->instance.state);
    return status;
}

/* 1 up to the original context, then more with every further one. */
static float query_temperature(const npu_hparams *h, uint32_t position) {
    uint32_t times = 1 + position / h->q_temp_floor;
    return (float)(npu_log64(times) * (double)h->q_temp_scale + 1);
}

/* How many of the remaining rows one step of a graph takes, and how many of those want logits. */
static uint32_t step_rows(const decoding *d, unsigned kind, uint32_t *n_out) {
    const npu_graph *g = &d->c->instance.graphs[kind];
    uint32_t n = 0;
    *n_out = 0;
    for (; n < g->max_rows && d->done + n < d->n; n++) {
        if (!d->rows[d->done + n].logits) continue;
        if (*n_out == g->max_out) break;
        ++*n_out;
    }
    return n;
}

/* Writes the inputs of |n| rows from the next one on. */
static void write_inputs(const decoding *d, unsigned kind, uint32_t n) {
    npu_instance *m = &d->c->instance;
    const npu_build_io *io = &m->io[kind];
    npu_executor *x = d->c->executor;
    int32_t *tokens = npu_executor_data(x, kind, io->tokens), *positions = npu_executor_data(x, kind, io->positions);
    int32_t *cells = npu_executor_data(x, kind, io->cells), *spans = npu_executor_data(x, kind, io->spans);
    int32_t *out_rows = npu_executor_data(x, kind, io->out_rows);
    float *q_temp = io->q_temp == NPU_NO_TENSOR ? NULL : npu_executor_data(x, kind, io->q_temp);
    for (int i = 0; i < 2; i++)
        if (io->freqs[i] != NPU_NO_TENSOR)
            memcpy(npu_executor_data(x, kind, io->freqs[i]), m->freqs[i], m->h->rope.n_rot / 2 * sizeof(float));
    out_rows[0] = (int32_t)n - 1; /* a step computes at least one row of logits, wanted or not */
    for (uint32_t i = 0, out = 0; i < n; i++) {
        const npu_row *row = &d->rows[d->done + i];
        uint32_t position = npu_state_reserve(&m->state, row->seq);
        tokens[i] = row->token;
        positions[i] = (int32_t)position;
        cells[i] = (int32_t)npu_state_cell(&m->state, row->seq, position);
        spans[2 * i] = (int32_t)npu_state_cell(&m->state, row->seq, 0);
        spans[2 * i + 1] = (int32_t)position + 1;
        if (q_temp) q_temp[i] = query_temperature(m->h, position);
        if (row->logits) out_rows[out++] = (int32_t)i;
    }
}

/* The host's threads are awake behind a step of theirs, not behind one of a device. */
static npu_status check_finite(const npu_context *c, const float *logits, uint32_t row, npu_error *err) {
    if (npu_host_finite(c->host, c->device != NULL, logits, c->model->h.n_vocab)) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "decode.not_finite",
                    "the logits after row %u are not finite (NaN or infinity): a weight of the model is not a number%s",
                    row, c->device ? ", or the device failed (the CPU, without `npu_target`, tells which)" : "");
}

/* Hands the logits of a step on: to the sink, or to where npu_logits finds them. */
static npu_status take_logits(decoding *d, unsigned kind, uint32_t n, uint32_t n_out, npu_error *err) {
    npu_context *c = d->c;
    uint32_t n_vocab = c->model->h.n_vocab;
    const float *logits = npu_executor_data(c->executor, kind, c->instance.io[kind].logits);
    for (uint32_t i = 0, out = 0; i < n && out < n_out; i++) {
        if (!d->rows[d->done + i].logits) continue;
        const float *row = logits + (size_t)out++ * n_vocab;
        NPU_TRY(check_finite(c, row, d->done + i, err));
        if (d->sink) NPU_TRY(d->sink(d->user, d->done + i, row, n_vocab, err));
    }
    if (d->sink || !n_out) return NPU_OK;
    if (d->single_step) {
        c->logits = logits;
    } else {
        memcpy(c->kept + (size_t)c->n_logits * n_vocab, logits, (size_t)n_out * n_vocab * sizeof(float));
        c->logits = c->kept;
    }
    c->n_logits += n_out;
    return NPU_OK;
}

static void tell_progress(const decoding *d) {
    if (d->c->progress && d->n > 1) d->c->progress(d->c->progress_user, d->done, d->n);
}

static npu_status run_steps(decoding *d, npu_error *err) {
    const npu_instance *m = &d->c->instance;
    while (d->done < d->n) {
        tell_progress(d);
        unsigned kind = d->n - d->done <= m->settings.decode_rows ? NPU_GRAPH_DECODE : NPU_GRAPH_PREFILL;
        uint32_t n_out, n = step_rows(d, kind, &n_out);
        d->single_step = n == d->n;
        npu_step step = {.rows = {[NPU_ROWS_STEP] = n, [NPU_ROWS_OUT] = n_out ? n_out : 1}};
        write_inputs(d, kind, n);
        NPU_TRY(npu_executor_run(d->c->executor, kind, &step, err));
        NPU_TRY(take_logits(d, kind, n, n_out, err));
        d->done += n;
    }
    tell_progress(d);
    return NPU_OK;
}

static npu_status decode(npu_context *c, const npu_row *rows, uint32_t n, npu_logits_fn *sink, void *user,
                         npu_error *err) {
    decoding d = {.c = c, .rows = rows, .n = n, .sink = sink, .user = user};
    c->n_logits = 0;
    NPU_TRY(check_rows(c, rows, n, err));
    if (c->trace) NPU_TRY(npu_trace_start(c->trace, err)); /* what is refused leaves the file of that name alone */
    npu_status status = run_steps(&d, err);
    if (status == NPU_OK) {
        npu_state_commit(&c->instance.state);
    } else {
        npu_state_rollback(&c->instance.state);
        c->n_logits = 0;
    }
    return status;
}

void npu_context_decode_progress(npu_context *c, npu_decode_progress_fn *fn, void *user) {
    c->progress = fn;
    c->progress_user = user;
}

npu_status npu_decode(npu_context *c, const npu_row *rows, uint32_t n, npu_error *err) {
    uint32_t wanted = 0;
    c->n_logits = 0;
    for (uint32_t i = 0; i < n; i++) wanted += rows[i].logits;
    if (wanted > c->max_logits)
        return npu_fail(err, NPU_REFUSED, "decode.too_many_logits", "%u rows ask for logits: at most %u at once",
                        wanted, c->max_logits);
    return decode(c, rows, n, NULL, NULL, err);
}

npu_status npu_decode_each(npu_context *c, const npu_row *rows, uint32_t n, npu_logits_fn *sink, void *user,
                           npu_error *err) {
    return decode(c, rows, n, sink, user, err);
}

const float *npu_logits(const npu_context *c, uint32_t i) {
    return i < c->n_logits ? c->logits + (size_t)i * c->model->h.n_vocab : NULL;
}
