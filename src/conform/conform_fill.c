/* Contents of a case's tensors: random values with the odd zero, infinity and NaN, blocks of every format with sane and
 * with strange scales, ids, cells, spans. The tensor's own elements only: what lies between and around stays poison. */
#include <string.h>

#include "conform/conform_case.h"
#include "quant/quant.h"
#include "wire/half.h"
#include "wire/op_check.h"

static void put_half(npu_case *c, uint8_t *p, float magnitude, bool strange) {
    static const uint16_t odd[] = {0x0000, 0x8000, 0x0001, 0x03FF, 0x7C00, 0x7E00};
    uint16_t h = npu_float_to_half(magnitude * npu_case_unit(c));
    if (strange && npu_case_below(c, 8) == 0) h = odd[npu_case_below(c, 6)];
    memcpy(p, &h, sizeof h);
}

static void put_block(npu_case *c, uint32_t type, uint8_t *p, uint32_t bytes, bool strange) {
    for (uint32_t i = 0; i < bytes; i++) p[i] = (uint8_t)npu_case_random(c);
    if (type == NPU_TYPE_MXFP4)
        p[0] = strange && npu_case_below(c, 8) == 0 ? p[0] : (uint8_t)(118 + npu_case_below(c, 6));
    const npu_quant *quant = npu_quant_of(type);
    if (quant->d_at >= 0) put_half(c, p + quant->d_at, 0.02f, strange);
    if (quant->m_at >= 0) put_half(c, p + quant->m_at, 0.05f, strange);
}

/* What a whole row looks like; most rows are ordinary. */
enum { ROW_ORDINARY, ROW_ZERO, ROW_TINY, ROW_HUGE, ROW_INF, ROW_NAN, ROW_MINUS_INF, ROW_EQUAL, ROW_KINDS };

static float value(npu_case *c, int row, float scale) {
    float v = scale * (npu_case_unit(c) + npu_case_unit(c) * npu_case_unit(c));
    switch (row) {
    case ROW_ZERO:
        return npu_case_below(c, 2) ? 0.0f : -0.0f;
    case ROW_TINY:
        return v * 1e-38f;
    case ROW_HUGE:
        return v * 1e37f;
    case ROW_INF:
        return npu_case_below(c, 16) ? v : __builtin_inff();
    case ROW_NAN:
        return npu_case_below(c, 16) ? v : __builtin_nanf("");
    case ROW_MINUS_INF:
        return -__builtin_inff();
    case ROW_EQUAL:
        return 0.5f;
    default:
        return npu_case_below(c, 64) ? v : 0.0f;
    }
}

static float mask_value(npu_case *c) {
    uint32_t kind = npu_case_below(c, 4);
    return kind == 0 ? -__builtin_inff() : kind == 1 ? npu_case_unit(c) : 0.0f;
}

static void put_number(uint32_t type, float v, uint8_t *p) {
    npu_quant_of(type)->quant(&v, p, 1);
}

static void fill_row(npu_case *c, const npu_tensor *t, npu_case_fill fill, uint8_t *row, int kind, float scale) {
    uint32_t values, unit = npu_tensor_unit(t, &values);
    for (uint32_t i = 0; i < t->ne[0]; i += values) {
        uint8_t *at = row + i / values * t->nb[0];
        if (values > 1) {
            put_block(c, t->type, at, unit, kind != ROW_ORDINARY);
        } else if (t->type == NPU_TYPE_I32) {
            int32_t v = (int32_t)npu_case_random(c);
            memcpy(at, &v, sizeof v);
        } else if (fill == NPU_FILL_MASK) {
            put_number(t->type, mask_value(c), at);
        } else if (fill == NPU_FILL_POSITIVE) {
            put_number(t->type, 1.5f + npu_case_unit(c), at);
        } else if (fill == NPU_FILL_FREQS) {
            float u = (1 + npu_case_unit(c)) / 2;
            put_number(t->type, i == 0 ? 1.0f : u * u * u, at);
        } else {
            put_number(t->type, value(c, kind, scale), at);
        }
    }
}

static void fill_values(npu_case *c, uint32_t index, uint8_t *data) {
    const npu_tensor *t = &c->tensors[index];
    static const float scales[] = {1, 1, 0.1f, 8, 40};
    float scale = scales[npu_case_below(c, 5)];
    bool strange = npu_case_below(c, 6) == 0;
    for (uint32_t i3 = 0; i3 < t->ne[3]; i3++) {
        for (uint32_t i2 = 0; i2 < t->ne[2]; i2++) {
            for (uint32_t i1 = 0; i1 < t->ne[1]; i1++) {
                int kind = strange && npu_case_below(c, 3) == 0 ? (int)npu_case_below(c, ROW_KINDS) : ROW_ORDINARY;
                uint8_t *row = data + t->offset + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3];
                fill_row(c, t, (npu_case_fill)c->fill[index], row, kind, scale);
            }
        }
    }
}

static uint32_t common_factor(uint32_t a, uint32_t b) {
    while (b) {
        uint32_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* A stride without a factor in common with |limit| visits every id once. */
static void fill_ids(npu_case *c, const npu_tensor *t, uint32_t limit, bool distinct, int32_t *ids) {
    uint32_t stride = 1 + npu_case_below(c, limit), start = npu_case_below(c, limit);
    if (common_factor(limit, stride) != 1) stride = 1;
    for (uint32_t i = 0; i < t->ne[0]; i++) {
        ids[i] = (int32_t)(distinct ? (start + (uint64_t)i * stride) % limit : npu_case_below(c, limit));
    }
}

/* Half of the time the rows of one sequence (each a key more), else spans that have nothing to do with each other. */
static void fill_spans(npu_case *c, const npu_tensor *t, uint32_t cells, uint8_t *data) {
    uint32_t m = t->ne[1];
    bool sequence = npu_case_below(c, 2) && m < cells;
    uint32_t first = npu_case_below(c, cells - (sequence ? m : 0)), n = 0;
    if (npu_case_below(c, 2)) first = 0;
    if (sequence) n = npu_case_below(c, cells - first - m + 1);
    for (uint32_t i = 0; i < m; i++) {
        int32_t span[2] = {(int32_t)first, (int32_t)(n + i + 1)};
        if (!sequence) {
            span[0] = (int32_t)npu_case_below(c, cells);
            span[1] = (int32_t)npu_case_below(c, cells - (uint32_t)span[0] + 1);
        }
        memcpy(data + t->offset + i * t->nb[1], span, sizeof span);
    }
}

void npu_case_fill_tensor(npu_case *c, uint32_t index, uint8_t *data) {
    const npu_tensor *t = &c->tensors[index];
    switch ((npu_case_fill)c->fill[index]) {
    case NPU_FILL_NOTHING:
        return;
    case NPU_FILL_INDICES:
    case NPU_FILL_CELLS:
        fill_ids(c, t, c->limit[index], c->fill[index] == NPU_FILL_CELLS, (int32_t *)(void *)(data + t->offset));
        return;
    case NPU_FILL_SPANS:
        fill_spans(c, t, c->limit[index], data);
        return;
    default:
        fill_values(c, index, data);
        return;
    }
}
