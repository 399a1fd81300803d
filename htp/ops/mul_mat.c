/* MUL_MAT by the block-int8 contract (docs/numerics.md, section 5).
 *
 * Pass 1 quantises the rows of x into scratch: codes, scales, scale * sum of codes. Scratch is cached memory, because
 * the multiply reads codes as scalar operands. Pass 2 streams row tiles of the weights through VTCM; a lane is a weight
 * row, so there is one accumulator per result and blocks go in ascending order, whatever the split. Weight row tiles
 * are dealt to the threads in turn.
 */
#include "htp/hvx/dot.h"
#include "htp/hvx/f32.h"
#include "htp/op.h"

#include "wire/image.h"

typedef struct mul_mat {
    htp_op *o;
    const npu_kernel_mul_mat *k;
    uint32_t first, rows; /* of x in this pass */
    uint32_t k_values;
    struct {
        const npu_image_format *format;
        uint32_t first_tile, tiles, row_tile_bytes;
    } w[4];
    uint32_t tiles;
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
    htp_dma_push(t->dma, t->vtcm + slot * m->k->x_slot_bytes, m->o->src_data[0] + (m->first + row) * m->o->src[0].nb[1],
                 m->k_values * 4);
    return 1;
}

/* One block: codes to |q|, returns the scale; |*sum| is scale * sum of codes. */
static float quantise_block(const htp_f32 *x, int8_t *q, float *sum) {
    uint32_t most = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t bits = npu_float_bits(x->f[i]) & 0x7FFFFFFFu;
        most = bits > most ? bits : most;
    }
    if (most >= 0x7F800000u || most < 0x0D800000u) { /* Inf or NaN; below 2^-100 */
        for (int i = 0; i < 32; i++) q[i] = 0;
        return *sum = most >= 0x7F800000u ? NPU_F32_NAN : 0.0f;
    }
    float a = npu_bits_float(most), d = a / 127.0f, id = 127.0f / a;
    int32_t total = 0;
    for (int i = 0; i < 32; i++) {
        /* |x * id| is at most a hair above 127: adding 1.5 * 2^23 rounds it to an integer, to nearest even. */
        int32_t c = (int32_t)(npu_float_bits(x->f[i] * id + 0x1.8p23f) - 0x4B400000u);
        c = c > 127 ? 127 : c < -127 ? -127 : c;
        q[i] = (int8_t)c;
        total += c;
    }
    *sum = d * (float)total;
    return d;
}

static void quantise(void *job, uint64_t row, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    const htp_f32 *x = (const htp_f32 *)(t->vtcm + slot * m->k->x_slot_bytes);
    int8_t *q = (int8_t *)act_row(m, (uint32_t)row);
    float *d = (float *)(q + m->k_values), *s = d + m->k_values / 32;
    for (uint32_t b = 0; b < m->k_values / 32; b++) d[b] = quantise_block(&x[b], q + b * 32, &s[b]);
}

static uint32_t store_none(void *job, uint64_t row, uint32_t slot) {
    (void)job, (void)row, (void)slot;
    return 0;
}

static void quantise_rows(void *job, unsigned thread) {
    const mul_mat *m = job;
    mul_mat_thread t = {m, &m->o->session->dma[thread], htp_op_vtcm(m->o, thread), thread};
    uint32_t each = (m->rows + m->k->head.threads - 1) / m->k->head.threads, first = thread * each;
    htp_pipe pipe = {t.dma,  &t,       m->k->head.depth, first, first + each < m->rows ? first + each : m->rows,
                     load_x, quantise, store_none};
    if (first < pipe.end) htp_pipe_run(&pipe);
}

/* --- pass 2 --- */

static unsigned weight_of(const mul_mat *m, uint64_t tile) {
    unsigned w = 0;
    while (tile >= m->w[w].first_tile + m->w[w].tiles) w++;
    return w;
}

/* Slots: weights of |depth| tiles, each followed by its bias vector, then results of |depth| tiles. */
static uint8_t *weight_slot(const mul_mat_thread *t, uint32_t slot) {
    return t->vtcm + slot * t->m->k->weight_slot_bytes;
}
static uint8_t *out_slot(const mul_mat_thread *t, uint32_t slot) {
    return t->vtcm + t->m->k->head.depth * t->m->k->weight_slot_bytes + slot * t->m->k->out_slot_bytes;
}

static uint64_t tile_of(const mul_mat_thread *t, uint64_t unit) {
    return unit * t->m->k->head.threads + t->thread;
}

static uint32_t columns_of(const mul_mat *m, unsigned w, uint32_t tile) {
    uint32_t left = m->o->dst[w].ne[0] - tile * 32;
    return left < 32 ? left : 32;
}

static uint32_t load_tile(void *job, uint64_t unit, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    unsigned w = weight_of(m, tile_of(t, unit));
    uint32_t tile = (uint32_t)tile_of(t, unit) - m->w[w].first_tile, bytes = m->w[w].row_tile_bytes;
    htp_dma_push(t->dma, weight_slot(t, slot), m->o->src_data[1 + w] + (uint64_t)tile * bytes, bytes);
    if (!m->o->src_data[5 + w]) return 1;
    htp_dma_push(t->dma, weight_slot(t, slot) + bytes, m->o->src_data[5 + w] + (uint64_t)tile * 128,
                 columns_of(m, w, tile) * 4);
    return 2;
}

/* f16 scales of tile 2t in the even halves, of tile 2t + 1 in the odd ones. */
static htp_f32 scales_of(const uint8_t *plane, uint32_t tile) {
    const uint16_t *h = (const uint16_t *)plane + (tile / 2) * 64 + (tile & 1);
    htp_f32 y;
    for (int r = 0; r < 32; r++) y.f[r] = npu_half_to_float(h[2 * r]);
    return y;
}

static htp_f32 floats_of(htp_i32 a) {
    htp_f32 y;
    for (int r = 0; r < 32; r++) y.f[r] = (float)a.i[r];
    return y;
}

static int32_t sum_of(const int8_t *q) {
    int32_t sum = 0;
    for (int i = 0; i < 32; i++) sum += q[i];
    return sum;
}

static void multiply(void *job, uint64_t unit, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    unsigned w = weight_of(m, tile_of(t, unit));
    const npu_image_format *f = m->w[w].format;
    const uint8_t *codes = weight_slot(t, slot), *scales = codes + npu_image_code_bytes(f, m->k_values);
    const uint8_t *minima = scales + npu_image_scale_bytes(m->k_values);
    htp_f32 *out = (htp_f32 *)out_slot(t, slot);
    uint32_t tile_bytes = f->bits * 128u, blocks = m->k_values / 32;
    for (uint32_t row = 0; row < m->rows; row++) out[row] = htp_f32_splat(0);
    for (uint32_t b = 0; b < blocks; b++) {
        htp_f32 scale = scales_of(scales, b), min;
        if (f->has_min) min = scales_of(minima, b);
        for (uint32_t row = 0; row < m->rows; row++) {
            const int8_t *q = (const int8_t *)act_row(m, row);
            const float *d = (const float *)(q + m->k_values), *s = d + blocks;
            const int8_t *qb = q + b * 32;
            htp_i32 sum = f->bits == 8
                              ? htp_dot_tile8(codes + b * tile_bytes, qb)
                              : htp_dot_tile4(codes + b * tile_bytes, qb, f->offset ? f->offset * sum_of(qb) : 0);
            htp_f32 p = htp_f32_mul(scale, htp_f32_splat(d[b]));
            out[row] = htp_f32_fma(p, floats_of(sum), out[row]);
            if (f->has_min) out[row] = htp_f32_fma(min, htp_f32_splat(s[b]), out[row]);
        }
    }
    if (!m->o->src_data[5 + w]) return;
    const htp_f32 *bias = (const htp_f32 *)(codes + m->w[w].row_tile_bytes);
    for (uint32_t row = 0; row < m->rows; row++) out[row] = htp_f32_add(out[row], *bias);
}

static uint32_t store_tile(void *job, uint64_t unit, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    unsigned w = weight_of(m, tile_of(t, unit));
    uint32_t tile = (uint32_t)tile_of(t, unit) - m->w[w].first_tile;
    const npu_tensor *y = &m->o->dst[w];
    htp_dma_push_2d(t->dma, m->o->dst_data[w] + m->first * y->nb[1] + (uint64_t)tile * 128, out_slot(t, slot),
                    columns_of(m, w, tile) * 4, m->rows, y->nb[1], 128);
    return 1;
}

static void multiply_tiles(void *job, unsigned thread) {
    const mul_mat *m = job;
    mul_mat_thread t = {m, &m->o->session->dma[thread], htp_op_vtcm(m->o, thread), thread};
    uint32_t threads = m->k->head.threads, mine = (m->tiles + threads - 1 - thread) / threads;
    htp_pipe pipe = {t.dma, &t, m->k->head.depth, 0, mine, load_tile, multiply, store_tile};
    if (mine) htp_pipe_run(&pipe);
}

void htp_mul_mat(htp_op *o) {
    mul_mat m = {.o = o, .k = o->kernel, .k_values = o->src[0].ne[0]};
    for (unsigned i = 0; i < 4; i++) {
        m.w[i].first_tile = m.tiles;
        if (!o->src_data[1 + i]) continue;
        m.w[i].format = npu_image_format_of(o->src[1 + i].type);
        m.w[i].tiles = (o->src[1 + i].ne[1] + 31) / 32;
        m.w[i].row_tile_bytes = npu_image_row_tile_bytes(m.w[i].format, m.k_values);
        m.tiles += m.w[i].tiles;
    }
    uint32_t rows = o->src[0].ne[1];
    for (m.first = 0; m.first < rows; m.first += m.k->m_chunk) {
        m.rows = rows - m.first < m.k->m_chunk ? rows - m.first : m.k->m_chunk;
        htp_pool_run(&o->session->pool, quantise_rows, &m, m.rows < m.k->head.threads ? m.rows : m.k->head.threads);
        htp_pool_run(&o->session->pool, multiply_tiles, &m, m.k->head.threads);
    }
}
