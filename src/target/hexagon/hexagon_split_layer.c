/* A batch split by layers: each device runs the ops of its layers, one after the other.
 *
 * A run of ops of one device is a program; it waits for the program before it and signals its own end. So that several
 * devices are at work at once, a step is sent in parts of its rows (hexagon_group.c), which follow each other through
 * the devices. Rows need nothing of each other but keys and values, which stay on their layer's device; only what comes
 * after the rows that logits are asked for is done once for all, at the end.
 *
 * Intermediate results lie in memory of each device's own, since the graph's layout gives the same bytes to results of
 * different layers. What another device reads, or the part at the end when other rows have passed in between, has a
 * place of its own in a buffer that all see (transit); what is left at the batch's end stays where the graph says,
 * because the host may want it.
 *
 * A place in transit has one writer in a batch, and a batch begins when the one before has ended, so nothing is written
 * over while it is under way; parts of a step meet in no line, since each has so many rows that they are whole lines
 * (part_rows). The writer's stores go by DMA and have arrived before it signals; readers fetch them by DMA, or drop the
 * lines first (htp_op_refresh), after they have seen the signal. */
#include <stdlib.h>
#include <string.h>

#include "target/hexagon/hexagon_cut.h"
#include "target/hexagon/hexagon_hazard.h"
#include "target/hexagon/hexagon_lower.h"
#include "target/hexagon/hexagon_parts.h"
#include "wire/op_check.h"

/* The result of an op: where it is to lie. |crosses|: to another device, or from the rows' part to what is done once.
 */
typedef struct value {
    uint64_t offset; /* in transit */
    bool crosses, stays;
} value;

typedef struct splitting {
    npu_hex_target *t;
    const npu_batch *batch;
    uint32_t *device; /* of each op */
    value *values;    /* [op][NPU_OP_DSTS] */
    npu_hex_buffer *transit;
    uint64_t transit_bytes;
    uint32_t once;      /* ops from here on run once a step, after all of its rows */
    uint32_t row_lines; /* as many rows of everything in transit are whole lines */
    bool reads_older;   /* compute memory that was written before this batch */
} splitting;

/* The last result written before op |before| that shares bytes with |t|; NULL when there is none. */
static value *last_value(const splitting *s, uint32_t before, const npu_tensor *t, uint32_t *op, npu_tensor *whole) {
    for (uint32_t i = before; i-- > 0;)
        for (unsigned k = 0; k < NPU_OP_DSTS; k++) {
            uint16_t d = s->batch->ops[i].dst[k];
            if (d == NPU_NO_TENSOR || s->batch->tensors[d].flags & NPU_TENSOR_WEIGHT ||
                !npu_tensor_overlap(&s->batch->tensors[d], t))
                continue;
            *op = i;
            *whole = s->batch->tensors[d];
            return &s->values[i * NPU_OP_DSTS + k];
        }
    return NULL;
}

/* Ops outside the layers go with those before them, at the start with those after. */
static void choose_devices(splitting *s) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < s->batch->n_ops; i++) {
        before = npu_hex_group_device(s->t, s->batch->ops[i].layer);
        if (before != UINT32_MAX) break;
    }
    if (before == UINT32_MAX) before = 0;
    for (uint32_t i = 0; i < s->batch->n_ops; i++) {
        uint32_t d = npu_hex_group_device(s->t, s->batch->ops[i].layer);
        if (d != UINT32_MAX) before = d;
        s->device[i] = before;
    }
}

static npu_status find_readers(splitting *s, uint32_t i, npu_error *err) {
    for (unsigned k = 0; k < NPU_OP_SRCS; k++) {
        uint16_t index = s->batch->ops[i].src[k];
        if (index == NPU_NO_TENSOR || !npu_hex_parts_is_compute(s->batch, &s->batch->tensors[index])) continue;
        const npu_tensor *t = &s->batch->tensors[index];
        uint32_t writer;
        npu_tensor whole;
        value *v = last_value(s, i, t, &writer, &whole);
        if (!v) {
            s->reads_older = true;
            continue;
        }
        if (t->offset < whole.offset || t->offset + npu_tensor_extent(t) > whole.offset + npu_tensor_extent(&whole))
            return npu_fail(err, NPU_UNSUPPORTED, "hexagon.split", "op %u reads what several ops wrote", i);
        v->crosses |= s->device[writer] != s->device[i] || (writer < s->once) != (i < s->once);
    }
    return NPU_OK;
}

static void find_rest(splitting *s) {
    const npu_batch *b = s->batch;
    for (uint32_t i = 0; i < b->n_ops; i++)
        for (unsigned k = 0; k < NPU_OP_DSTS; k++) {
            uint16_t d = b->ops[i].dst[k];
            value *v = &s->values[i * NPU_OP_DSTS + k];
            uint32_t later;
            npu_tensor whole;
            if (d == NPU_NO_TENSOR || !npu_hex_parts_is_compute(b, &b->tensors[d])) continue;
            v->stays = last_value(s, b->n_ops, &b->tensors[d], &later, &whole) == v;
            if (!v->crosses || v->stays) continue;
            const npu_tensor *y = &b->tensors[d];
            uint32_t lines = y->rows_of == NPU_ROWS_STEP ? npu_hex_cut_lines(y->nb[y->rows_dim]) : 1;
            if (lines > s->row_lines) s->row_lines = lines;
            v->offset = s->transit_bytes;
            s->transit_bytes += (npu_tensor_extent(&b->tensors[d]) + NPU_HEX_LINE - 1) / NPU_HEX_LINE * NPU_HEX_LINE;
        }
}

/* Tensor |index| as op |i| finds it. */
static npu_status place(splitting *s, uint32_t i, uint16_t index, bool written, unsigned k, npu_hex_operand *out,
                        npu_error *err) {
    NPU_TRY(npu_hex_resolve(s->t, s->batch, index, out, err));
    if (!npu_hex_parts_is_compute(s->batch, &s->batch->tensors[index])) return NPU_OK;
    uint32_t writer = i;
    npu_tensor whole = s->batch->tensors[index];
    const value *v = written ? &s->values[i * NPU_OP_DSTS + k] : last_value(s, i, &whole, &writer, &whole);
    if (!v || v->stays) return NPU_OK;
    if (!v->crosses) {
        npu_hex_buffer *own;
        NPU_TRY(npu_hex_group_twin(s->t, out->buffer, s->device[i], &own, err));
        out->buffer = own;
        return NPU_OK;
    }
    out->tensor.offset += v->offset - whole.offset;
    out->buffer = s->transit;
    if (v->offset % NPU_HEX_LINE || s->transit_bytes > s->transit->bytes ||
        out->tensor.offset + npu_tensor_extent(&out->tensor) > s->transit_bytes)
        return npu_fail(err, NPU_INTERNAL, "hexagon.transit", "op %u: a value lies outside the place between devices",
                        i);
    return NPU_OK;
}

static npu_status add_op(splitting *s, npu_hex_program *p, uint32_t i, npu_error *err) {
    npu_op *op = &p->ops[p->n_ops++];
    *op = s->batch->ops[i];
    for (unsigned k = 0; k < NPU_OP_SRCS + NPU_OP_DSTS; k++) {
        bool written = k >= NPU_OP_SRCS;
        uint16_t *index = written ? &op->dst[k - NPU_OP_SRCS] : &op->src[k];
        npu_hex_operand operand;
        if (*index == NPU_NO_TENSOR) continue;
        NPU_TRY(place(s, i, *index, written, written ? k - NPU_OP_SRCS : 0, &operand, err));
        NPU_TRY(npu_hex_program_add(p, &operand.tensor, operand.buffer, index, err));
    }
    return NPU_OK;
}

static bool has_out_rows(const npu_batch *b, const npu_op *op) {
    for (unsigned k = 0; k < NPU_OP_SRCS + NPU_OP_DSTS; k++) {
        uint16_t index = k < NPU_OP_SRCS ? op->src[k] : op->dst[k - NPU_OP_SRCS];
        if (index != NPU_NO_TENSOR && b->tensors[index].rows_of == NPU_ROWS_OUT) return true;
    }
    return false;
}

/* Ops first .. end - 1, which are of one device. |before|: the device of the program before, its own when there is
 * none. */
static npu_status write_run(splitting *s, uint32_t first, uint32_t end, npu_hex_pass pass, uint32_t before,
                            npu_error *err) {
    npu_hex_program p;
    NPU_TRY(npu_hex_program_init(&p, (end - first) * (NPU_OP_SRCS + NPU_OP_DSTS), end - first, 2, err));
    p.device = s->device[first];
    p.pass = pass;
    p.first_op = first;
    npu_status status = NPU_OK;
    for (uint32_t i = first; i < end && status == NPU_OK; i++) status = add_op(s, &p, i, err);
    if (before != p.device) npu_hex_program_sync(&p, 0, NPU_SYNC_WAIT, before, -1);
    npu_hex_program_sync(&p, p.n_ops, NPU_SYNC_SIGNAL, 0, 0);
    if (status == NPU_OK) status = npu_hex_write_images(s->t, &p, s->batch->image_id, err);
    npu_hex_program_free(&p);
    return status;
}

static npu_status write_runs(splitting *s, npu_error *err) {
    const npu_batch *b = s->batch;
    uint32_t before = b->n_ops ? s->device[0] : 0, first_image = s->t->n_images, once = s->once;
    for (uint32_t first = 0, end; first < b->n_ops; first = end) {
        for (end = first + 1; end < b->n_ops && end != once && s->device[end] == s->device[first];) end++;
        NPU_TRY(write_run(s, first, end, first < once ? NPU_HEX_PASS_ROWS : NPU_HEX_PASS_ALL, before, err));
        before = s->device[first];
    }
    for (uint32_t i = first_image; i < s->t->n_images; i++)
        s->t->images[i].part_rows = s->reads_older ? 0 : s->row_lines;
    return NPU_OK;
}

npu_status npu_hex_split_layers(npu_hex_target *t, const npu_batch *batch, npu_error *err) {
    splitting s = {.t = t, .batch = batch, .row_lines = 1};
    npu_status status = NPU_OK;
    s.device = calloc((size_t)batch->n_ops + 1, sizeof *s.device);
    s.values = calloc((size_t)batch->n_ops + 1, NPU_OP_DSTS * sizeof *s.values);
    if (!s.device || !s.values)
        status = npu_fail(err, NPU_NO_MEMORY, "hexagon.lower", "no memory to split a batch of %u ops", batch->n_ops);
    if (status == NPU_OK) choose_devices(&s);
    while (s.once < batch->n_ops && !has_out_rows(batch, &batch->ops[s.once])) s.once++;
    for (uint32_t i = 0; i < batch->n_ops && status == NPU_OK; i++) status = find_readers(&s, i, err);
    if (status == NPU_OK) find_rest(&s);
    if (status == NPU_OK && s.transit_bytes)
        status = npu_hex_group_passing(t, batch->image_id, s.transit_bytes, &s.transit, err);
    if (status == NPU_OK) status = write_runs(&s, err);
    if (status != NPU_OK) npu_hex_group_drop_passing(batch->image_id, s.transit);
    free(s.device);
    free(s.values);
    return status;
}
