/* See state.h. */
#include "model/state.h"

#include <stdlib.h>
#include <string.h>

enum { SLAB_ALIGN = 128 };

/* Reserves one slab of |cells| rows; the offset of the next one goes to |*end|. */
static int lay_slab(const npu_format *format, uint64_t values, uint64_t cells, uint64_t *end, uint64_t *offset,
                    uint64_t *row_bytes) {
    *row_bytes = npu_format_row_bytes(format, values);
    *offset = *end;
    uint64_t bytes;
    return !__builtin_mul_overflow(*row_bytes, cells, &bytes) && bytes <= INT64_MAX - SLAB_ALIGN &&
           !__builtin_add_overflow(*end, (bytes + SLAB_ALIGN - 1) / SLAB_ALIGN * SLAB_ALIGN, end) && *end <= INT64_MAX;
}

static npu_status lay_out(npu_state *s, const npu_hparams *h, npu_error *err) {
    const npu_format *format = npu_format_of(s->type);
    uint64_t cells = (uint64_t)s->ctx * s->n_seq;
    if (h->head_k % format->block_values || h->head_v % format->block_values)
        return npu_fail(err, NPU_REFUSED, "context.kv_type",
                        "`kv` %s needs heads of a multiple of %u values; this model has %u and %u", format->name,
                        format->block_values, h->head_k, h->head_v);
    for (uint32_t i = 0; i < h->n_layers; i++) {
        npu_state_layer *l = &s->layers[i];
        uint64_t heads = h->layers[i].n_heads_kv;
        if (!lay_slab(format, heads * h->head_k, cells, &s->bytes, &l->k_offset, &l->k_row_bytes) ||
            !lay_slab(format, heads * h->head_v, cells, &s->bytes, &l->v_offset, &l->v_row_bytes))
            return npu_fail(err, NPU_INVALID, "context.too_large",
                            "keys and values of %u sequences of `ctx` %u positions overflow", s->n_seq, s->ctx);
    }
    return NPU_OK;
}

npu_status npu_state_init(npu_state *s, const npu_hparams *h, uint32_t ctx, uint32_t n_seq, uint8_t type,
                          npu_error *err) {
    *s = (npu_state){.ctx = ctx, .n_seq = n_seq, .type = type, .n_layers = h->n_layers};
    if (!ctx || !n_seq || (uint64_t)ctx * n_seq > INT32_MAX)
        return npu_fail(err, NPU_INVALID, "context.too_large", "%u sequences of `ctx` %u positions: at most %d in all",
                        n_seq, ctx, INT32_MAX);
    s->layers = calloc(h->n_layers, sizeof *s->layers);
    s->lengths = calloc(n_seq, sizeof *s->lengths);
    s->pending = calloc(n_seq, sizeof *s->pending);
    npu_status status = s->layers && s->lengths && s->pending
                            ? lay_out(s, h, err)
                            : npu_fail(err, NPU_NO_MEMORY, "context.memory", "no memory for %u sequences", n_seq);
    if (status != NPU_OK) npu_state_free(s);
    return status;
}

void npu_state_free(npu_state *s) {
    free(s->layers);
    free(s->lengths);
    free(s->pending);
    *s = (npu_state){0};
}

uint32_t npu_state_reserve(npu_state *s, uint32_t seq) {
    return s->pending[seq]++;
}

npu_status npu_state_check_room(const npu_state *s, npu_error *err) {
    for (uint32_t i = 0; i < s->n_seq; i++)
        if (s->pending[i] > s->ctx)
            return npu_fail(err, NPU_REFUSED, "decode.ctx_full",
                            "sequence %u would have %u tokens, but the context holds %u", i, s->pending[i], s->ctx);
    return NPU_OK;
}

uint32_t npu_state_cell(const npu_state *s, uint32_t seq, uint32_t position) {
    return seq * s->ctx + position;
}

void npu_state_commit(npu_state *s) {
    memcpy(s->lengths, s->pending, s->n_seq * sizeof *s->lengths);
}

void npu_state_rollback(npu_state *s) {
    memcpy(s->pending, s->lengths, s->n_seq * sizeof *s->lengths);
}

void npu_state_truncate(npu_state *s, uint32_t seq, uint32_t length) {
    if (length < s->lengths[seq]) s->lengths[seq] = s->pending[seq] = length;
}

npu_status npu_state_copy(npu_state *s, npu_executor *x, uint32_t from, uint32_t to, uint32_t length, npu_error *err) {
    uint64_t source = npu_state_cell(s, from, 0), target = npu_state_cell(s, to, 0);
    npu_state_truncate(s, to, 0);
    for (uint32_t i = 0; i < s->n_layers && length; i++) {
        const npu_state_layer *l = &s->layers[i];
        NPU_TRY(npu_executor_state_copy(x, l->k_offset + source * l->k_row_bytes, l->k_offset + target * l->k_row_bytes,
                                        length * l->k_row_bytes, err));
        NPU_TRY(npu_executor_state_copy(x, l->v_offset + source * l->v_row_bytes, l->v_offset + target * l->v_row_bytes,
                                        length * l->v_row_bytes, err));
    }
    s->lengths[to] = s->pending[to] = length;
    return NPU_OK;
}

void npu_state_reset(npu_state *s) {
    for (uint32_t i = 0; i < s->n_seq; i++) npu_state_truncate(s, i, 0);
}
