/* MUL_MAT by the block-int8 contract, and by rows of plain numbers (docs/numerics.md, sections 4 and 5).
 *
 * Pass 1 brings the rows of x into scratch: codes and records of blocks, and the numbers themselves when a weight has
 * no codes. Scratch is cached memory, because the multiply reads codes as scalar operands. Pass 2 streams the weights
 * through VTCM in units: a row tile of an image, or as many rows of plain numbers as the plan says. In a row tile a
 * lane is a weight row, so there is one accumulator per result and blocks go in ascending order, whatever the split.
 * Units are dealt to the threads in turn. A matrix of x and its weights' matrices are one such product; batches are
 * done in turn.
 */
#include "htp/hvx/hvx_dot.h"
#include "htp/hvx/hvx_dot_float.h"
#include "htp/hvx/hvx_f32.h"
#include "htp/hvx/hvx_quantise.h"
#include "htp/op.h"

#include "wire/format.h"
#include "wire/guard.h"
#include "wire/image.h"

/* One weight: units from first_unit on are its own. */
typedef struct weight {
    const npu_image_format *image; /* NULL: plain numbers */
    const uint8_t *data;
    uint8_t *y;
    uint32_t first_unit, units, unit_rows;
    uint32_t row_tile_bytes; /* of an image */
    uint32_t whole;          /* of a slice of an image (wire/image.h): values of the image's rows, else 0 */
    uint32_t row_bytes;      /* of a plain row in its slot */
} weight;

typedef struct mul_mat {
    htp_op *o;
    const npu_kernel_mul_mat *k;
    const uint8_t *x;
    uint32_t first, rows; /* of x in this pass */
    uint32_t k_values;
    weight w[4];
    uint32_t units;
} mul_mat;

typedef struct mul_mat_thread {
    const mul_mat *m;
    htp_dma *dma;
    uint8_t *vtcm;
    unsigned thread;
} mul_mat_thread;

static uint8_t *act_row(const mul_mat *m, uint32_t row) {
    return m->o->session->scratch + (uint64_t)row * m->k->act_row_bytes;
}

/* --- pass 1 --- */

static uint32_t load_x(void *job, uint64_t row, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    htp_dma_push(t->dma, t->vtcm + slot * m->k->x_slot_bytes, m->x + (m->first + row) * m->o->src[0].nb[1],
                 m->k_values * 4);
    return 1;
}

static void quantise(void *job, uint64_t row, uint32_t slot) {
    const mul_mat_thread *t = job;
    const npu_kernel_mul_mat *k = t->m->k;
    const HVX_Vector *x = (const HVX_Vector *)(t->vtcm + slot * k->x_slot_bytes);
    uint8_t *act = act_row(t->m, (uint32_t)row);
    if (k->records_at) htp_quantise(x, t->m->k_values / 32, (HVX_Vector *)act, (htp_act_block *)(act + k->records_at));
    if (!k->unit_rows) return;
    HVX_Vector *numbers = (HVX_Vector *)(act + k->numbers_at);
    for (uint32_t i = 0; i < (t->m->k_values + 31) / 32; i++) numbers[i] = x[i];
}

static uint32_t store_none(void *job, uint64_t row, uint32_t slot) {
    (void)job, (void)row, (void)slot;
    return 0;
}

static void quantise_rows(void *job, unsigned thread) {
    const mul_mat *m = job;
    mul_mat_thread t = {m, &m->o->session->dma[thread], htp_op_vtcm(m->o, thread), thread};
    uint32_t each = NPU_GUARD_CEIL(ROUND_QUANTISE_ROWS, m->rows, m->k->head.threads), first = thread * each;
    htp_pipe pipe = {t.dma,  &t,       m->k->head.depth, first, first + each < m->rows ? first + each : m->rows,
                     load_x, quantise, store_none};
    if (first < pipe.end) htp_pipe_run(&pipe);
}

/* --- pass 2 --- */

static const weight *weight_of(const mul_mat *m, uint64_t unit) {
    const weight *w = m->w;
    while (unit >= w->first_unit + w->units) w++;
    return w;
}

/* Slots: weights of |depth| units, each with its bias at the end, then results of |depth| units. */
static uint8_t *weight_slot(const mul_mat_thread *t, uint32_t slot) {
    return t->vtcm + slot * t->m->k->weight_slot_bytes;
}
static HVX_Vector *bias_slot(const mul_mat_thread *t, uint32_t slot) {
    return (HVX_Vector *)(weight_slot(t, slot + 1) - NPU_VECTOR_BYTES);
}
static uint8_t *out_slot(const mul_mat_thread *t, uint32_t slot) {
    return t->vtcm + t->m->k->head.depth * t->m->k->weight_slot_bytes + slot * t->m->k->out_slot_bytes;
}

/* A thread's |n|-th unit: the weight, the unit in it, and the rows from |first| on that are there. */
typedef struct unit {
    const weight *w;
    unsigned index; /* of the weight */
    uint32_t number, first, rows;
} unit;

static unit unit_of(const mul_mat_thread *t, uint64_t n) {
    uint64_t at = n * t->m->k->head.threads + t->thread;
    unit u = {.w = weight_of(t->m, at)};
    u.index = (unsigned)(u.w - t->m->w);
    u.number = (uint32_t)at - u.w->first_unit;
    u.first = u.number * u.w->unit_rows;
    u.rows = t->m->o->dst[u.index].ne[0] - u.first;
    if (u.rows > u.w->unit_rows) u.rows = u.w->unit_rows;
    return u;
}

/* A slice of a row tile: its vectors of each plane, which lie in the slot as if they were all of K. */
static uint32_t load_slice(const mul_mat_thread *t, const unit *u, uint8_t *slot) {
    const npu_image_format *f = u->w->image;
    const uint8_t *tile = u->w->data + (uint64_t)u->number * u->w->row_tile_bytes;
    uint32_t first = (uint32_t)t->m->o->src[1 + u->index].nb[0], k = t->m->k_values, n = 0;
    for (npu_image_plane p = NPU_IMAGE_LOW; p < NPU_IMAGE_PLANES; p++) {
        uint32_t vectors = npu_image_vectors(f, p, k);
        if (!vectors) continue;
        uint32_t at = npu_image_plane_at(f, p, u->w->whole) + npu_image_vectors(f, p, first) * NPU_VECTOR_BYTES;
        htp_dma_push(t->dma, slot + npu_image_plane_at(f, p, k), tile + at, vectors * NPU_VECTOR_BYTES);
        n++;
    }
    return n;
}

static uint32_t load_unit(void *job, uint64_t n, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    unit u = unit_of(t, n);
    const npu_tensor *w = &m->o->src[1 + u.index];
    const uint8_t *bias = m->o->src_data[5 + u.index];
    uint32_t pushed = 1;
    if (u.w->whole)
        pushed = load_slice(t, &u, weight_slot(t, slot));
    else if (u.w->image)
        htp_dma_push(t->dma, weight_slot(t, slot), u.w->data + (uint64_t)u.number * u.w->row_tile_bytes,
                     u.w->row_tile_bytes);
    else
        htp_dma_push_2d(t->dma, weight_slot(t, slot), u.w->data + u.first * w->nb[1], m->k_values * (uint32_t)w->nb[0],
                        u.rows, u.w->row_bytes, w->nb[1]);
    if (!bias) return pushed;
    htp_dma_push(t->dma, bias_slot(t, slot), bias + (uint64_t)u.first * 4, u.rows * 4);
    return pushed + 1;
}

static void multiply_image(const mul_mat_thread *t, const weight *w, const uint8_t *tile, HVX_Vector *out) {
    const mul_mat *m = t->m;
    htp_dot_fn *const *dots = htp_dot[npu_image_index(w->image)];
    htp_planes planes;
    for (unsigned p = 0; p < NPU_IMAGE_PLANES; p++)
        planes[p] = (const HVX_Vector *)(tile + npu_image_plane_at(w->image, (npu_image_plane)p, m->k_values));
    for (uint32_t row = 0, columns; row < m->rows; row += columns) {
        uint32_t log = m->rows - row >= 4 ? 2 : m->rows - row >= 2 ? 1 : 0;
        htp_act_row x[4];
        columns = 1u << log;
        for (uint32_t c = 0; c < columns; c++) {
            const uint8_t *act = act_row(m, row + c);
            x[c] = (htp_act_row){(const int8_t *)act, (const htp_act_block *)(act + m->k->records_at)};
        }
        dots[log](planes, x, m->k_values / 32, out + row);
    }
}

static void multiply_numbers(const mul_mat_thread *t, const unit *u, const uint8_t *rows, HVX_Vector *out) {
    const mul_mat *m = t->m;
    for (uint32_t row = 0, columns; row < m->rows; row += columns) {
        const HVX_Vector *x[HTP_DOT_FLOAT_COLUMNS];
        columns = m->rows - row < HTP_DOT_FLOAT_COLUMNS ? m->rows - row : HTP_DOT_FLOAT_COLUMNS;
        for (uint32_t c = 0; c < columns; c++) x[c] = (const HVX_Vector *)(act_row(m, row + c) + m->k->numbers_at);
        htp_dot_float(m->o->src[1 + u->index].type, rows, u->w->row_bytes, u->rows, x, columns, m->k_values, out + row);
    }
}

static void multiply(void *job, uint64_t n, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    unit u = unit_of(t, n);
    HVX_Vector *out = (HVX_Vector *)out_slot(t, slot);
    if (u.w->image)
        multiply_image(t, u.w, weight_slot(t, slot), out);
    else
        multiply_numbers(t, &u, weight_slot(t, slot), out);
    if (!m->o->src_data[5 + u.index]) return;
    HVX_Vector bias = *bias_slot(t, slot);
    for (uint32_t row = 0; row < m->rows; row++) out[row] = hvx_f32_add(out[row], bias);
}

static uint32_t store_unit(void *job, uint64_t n, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    unit u = unit_of(t, n);
    uint64_t stride = m->o->dst[u.index].nb[1];
    htp_dma_push_2d(t->dma, u.w->y + m->first * stride + (uint64_t)u.first * 4, out_slot(t, slot), u.rows * 4, m->rows,
                    stride, NPU_VECTOR_BYTES);
    return 1;
}

static void multiply_units(void *job, unsigned thread) {
    const mul_mat *m = job;
    mul_mat_thread t = {m, &m->o->session->dma[thread], htp_op_vtcm(m->o, thread), thread};
    uint32_t threads = m->k->head.threads, mine = (m->units + threads - 1 - thread) / threads;
    htp_pipe pipe = {t.dma, &t, m->k->head.depth, 0, mine, load_unit, multiply, store_unit};
    if (mine) htp_pipe_run(&pipe);
}

/* Matrix (i2, i3) of x. */
static void multiply_matrix(mul_mat *m, uint32_t i2, uint32_t i3) {
    const htp_op *o = m->o;
    const npu_tensor *x = &o->src[0];
    m->x = o->src_data[0] + i2 * x->nb[2] + i3 * x->nb[3];
    for (unsigned i = 0; i < 4; i++) {
        const npu_tensor *w = &o->src[1 + i], *y = &o->dst[i];
        if (!o->src_data[1 + i]) continue;
        m->w[i].data = o->src_data[1 + i];
        if (!m->w[i].image)
            m->w[i].data += i2 / (x->ne[2] / w->ne[2]) * w->nb[2] + i3 / (x->ne[3] / w->ne[3]) * w->nb[3];
        m->w[i].y = o->dst_data[i] + i2 * y->nb[2] + i3 * y->nb[3];
    }
    for (m->first = 0; m->first < x->ne[1]; m->first += m->k->m_chunk) {
        m->rows = x->ne[1] - m->first < m->k->m_chunk ? x->ne[1] - m->first : m->k->m_chunk;
        htp_pool_run(&o->session->pool, quantise_rows, m, m->rows < m->k->head.threads ? m->rows : m->k->head.threads);
        htp_pool_run(&o->session->pool, multiply_units, m, m->k->head.threads);
    }
}

void htp_mul_mat(htp_op *o) {
    mul_mat m = {.o = o, .k = o->kernel, .k_values = o->src[0].ne[0]};
    for (unsigned i = 0; i < 4; i++) {
        const npu_tensor *w = &o->src[1 + i];
        m.w[i].first_unit = m.units;
        if (!o->src_data[1 + i]) continue;
        int tiles = w->layout == NPU_LAYOUT_TILES;
        m.w[i].unit_rows = tiles ? NPU_TILE_ROWS : m.k->unit_rows;
        m.w[i].units = NPU_GUARD_CEIL(ROUND_WEIGHT_UNITS, w->ne[1], m.w[i].unit_rows);
        if (tiles) {
            m.w[i].image = npu_image_format_of(w->type);
            m.w[i].whole = (uint32_t)w->nb[1];
            m.w[i].row_tile_bytes = npu_image_row_tile_bytes(m.w[i].image, m.w[i].whole ? m.w[i].whole : m.k_values);
        } else {
            m.w[i].row_bytes = npu_round_up(m.k_values * (uint32_t)w->nb[0], NPU_VECTOR_BYTES);
        }
        m.units += m.w[i].units;
    }
    for (uint32_t i3 = 0; i3 < o->src[0].ne[3]; i3++)
        for (uint32_t i2 = 0; i2 < o->src[0].ne[2]; i2++) multiply_matrix(&m, i2, i3);
}
