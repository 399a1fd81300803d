/* MUL_MAT by the block-int8 contract (docs/numerics.md, section 5).
 *
 * Pass 1 quantises the rows of x into scratch: codes, then scale and sum of codes of each block. Scratch is cached
 * memory, because the multiply reads codes as scalar operands. Pass 2 streams row tiles of the weights through VTCM; a
 * lane is a weight row, so there is one accumulator per result and blocks go in ascending order, whatever the split.
 * Weight row tiles are dealt to the threads in turn.
 */
#include "htp/hvx/hvx_dot.h"
#include "htp/hvx/hvx_math.h"
#include "htp/op.h"

#include "wire/format.h"
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

/* The scale of a block whose largest |x| has these bits; |*inverse| is what its values are multiplied with. */
static float block_scale(uint32_t most, float *inverse) {
    *inverse = 0;
    if (most >= 0x7F800000u) return NPU_F32_NAN; /* Inf or NaN */
    if (most < 0x0D800000u) return 0;            /* below 2^-100 */
    float a = npu_bits_float(most);
    *inverse = 127.0f / a;
    return a / 127.0f;
}

/* 32-bit codes of one block; 0 where the scale says that there is nothing to keep. */
static HVX_Vector block_codes(HVX_Vector x, float inverse) {
    HVX_Vector limit = Q6_V_vsplat_R(127), least = Q6_V_vsplat_R(-127);
    if (inverse == 0) return Q6_V_vzero();
    HVX_Vector c = hvx_f32_to_i32(hvx_f32_mul(x, hvx_f32_splat(inverse)));
    return Q6_Vw_vmax_VwVw(Q6_Vw_vmin_VwVw(c, limit), least);
}

static uint32_t largest_bits(HVX_Vector x) {
    HVX_Vector a = hvx_f32_abs(x);
    for (int bytes = 64; bytes >= 4; bytes /= 2) a = Q6_Vw_vmax_VwVw(a, Q6_V_vror_VR(a, bytes));
    return (uint32_t)Q6_R_vextract_VR(a, 0);
}

/* Four blocks at a time, since that is a vector of codes. Only the last vector of codes may reach past the codes, into
 * the first records: so the blocks go from the last ones to the first, and records follow codes. */
static void quantise(void *job, uint64_t row, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    const HVX_Vector *x = (const HVX_Vector *)(t->vtcm + slot * m->k->x_slot_bytes);
    HVX_Vector *codes = (HVX_Vector *)act_row(m, (uint32_t)row), ones = Q6_Vb_vsplat_R(1);
    htp_act_block *records = (htp_act_block *)(act_row(m, (uint32_t)row) + m->k_values);
    uint32_t blocks = m->k_values / 32;
    for (uint32_t b = (blocks + 3) / 4 * 4; b;) {
        b -= 4;
        HVX_Vector c[4] = {Q6_V_vzero(), Q6_V_vzero(), Q6_V_vzero(), Q6_V_vzero()};
        float d[4] = {0}, inverse;
        uint32_t n = blocks - b < 4 ? blocks - b : 4;
        for (uint32_t i = 0; i < n; i++) {
            d[i] = block_scale(largest_bits(x[b + i]), &inverse);
            c[i] = block_codes(x[b + i], inverse);
        }
        HVX_Vector bytes = Q6_Vb_vpack_VhVh_sat(Q6_Vh_vpack_VwVw_sat(c[3], c[2]), Q6_Vh_vpack_VwVw_sat(c[1], c[0]));
        HVX_Vector sums = Q6_Vw_vrmpy_VubVb(ones, bytes); /* of 4 codes; then of the 8 lanes of a block */
        for (int shift = 16; shift >= 4; shift /= 2) sums = Q6_Vw_vadd_VwVw(sums, Q6_V_vror_VR(sums, shift));
        codes[b / 4] = bytes;
        for (uint32_t i = 0; i < n; i++)
            records[b + i] = (htp_act_block){Q6_R_vextract_VR(sums, (int32_t)i * 32), d[i]};
    }
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

/* The kernels of a weight type. */
static htp_dot_fn *const *dots_of(uint32_t type) {
    static const uint8_t types[HTP_DOT_FORMATS] = {
        [HTP_DOT_Q4_0] = NPU_TYPE_Q4_0, [HTP_DOT_Q4_1] = NPU_TYPE_Q4_1, [HTP_DOT_Q8_0] = NPU_TYPE_Q8_0};
    unsigned i = 0;
    while (i + 1 < HTP_DOT_FORMATS && types[i] != type) i++; /* the checker let only these through */
    return htp_dot[i];
}

static void multiply(void *job, uint64_t unit, uint32_t slot) {
    const mul_mat_thread *t = job;
    const mul_mat *m = t->m;
    unsigned w = weight_of(m, tile_of(t, unit));
    const npu_image_format *f = m->w[w].format;
    const uint8_t *codes = weight_slot(t, slot), *scales = codes + npu_image_code_bytes(f, m->k_values);
    const uint8_t *minima = scales + npu_image_scale_bytes(m->k_values);
    HVX_Vector *out = (HVX_Vector *)out_slot(t, slot);
    htp_dot_fn *const *dots = dots_of(f->type);
    for (uint32_t row = 0, columns; row < m->rows; row += columns) {
        uint32_t log = m->rows - row >= 4 ? 2 : m->rows - row >= 2 ? 1 : 0;
        htp_act_row x[4];
        columns = 1u << log;
        for (uint32_t c = 0; c < columns; c++) {
            const uint8_t *act = act_row(m, row + c);
            x[c] = (htp_act_row){(const int8_t *)act, (const htp_act_block *)(act + m->k_values)};
        }
        dots[log]((const HVX_Vector *)codes, (const HVX_Vector *)scales, (const HVX_Vector *)minima, x,
                  m->k_values / 32, out + row);
    }
    if (!m->o->src_data[5 + w]) return;
    HVX_Vector bias = *(const HVX_Vector *)(codes + m->w[w].row_tile_bytes);
    for (uint32_t row = 0; row < m->rows; row++) out[row] = hvx_f32_add(out[row], bias);
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
