/* Heads of a layer's attention, shared among the devices. */
#include "target/hexagon/hexagon_cut.h"
#include "target/hexagon/hexagon_parts.h"
#include "wire/image.h"

enum { MOST_UNIT = 256 }; /* of npu__hex_parts_k_unit */

/* Heads of keys and of values whose rows in the cache are whole lines, whose weights are whole row tiles, and, when
 * that leaves parts, whose query heads may be a part of K of the product after them. */
static uint32_t heads_at_once(const npu_tensor *q, const npu_tensor *k, const npu_tensor *v, uint32_t k_unit) {
    uint32_t n = 1, lines_k = npu_hex_cut_lines(k->nb[1]), lines_v = npu_hex_cut_lines(v->nb[1]);
    if (lines_k > n) n = lines_k;
    if (lines_v > n) n = lines_v;
    while ((n * k->ne[0] % NPU_TILE_ROWS || n * v->ne[0] % NPU_TILE_ROWS) && n < NPU_TILE_ROWS) n *= 2;
    uint32_t width = q->ne[1] / k->ne[1] * v->ne[0], whole = n;
    while (whole * width % k_unit && whole < MOST_UNIT) whole *= 2;
    return whole * width % k_unit == 0 && whole < k->ne[1] ? whole : n;
}

/* Fills the ranges of |h| when there are more devices than key-value heads and some can share one's query heads. */
static bool replicate(const npu_hex_parting *p, npu_hex_heads *h, uint32_t each, uint32_t k_unit) {
    uint32_t group = h->n_q / h->n_kv, unit = 1;
    while (unit < group && unit * h->dv % k_unit) unit *= 2;
    if (!p->sums || p->no_replicas || p->n <= h->n_kv || each != 1 || unit >= group || unit * h->dv % k_unit)
        return false;
    for (uint32_t head = 0; head < h->n_kv; head++) {
        uint32_t from = head * p->n / h->n_kv, to = (head + 1) * p->n / h->n_kv, cuts[NPU_HEX_DEVICES + 1];
        npu_hex_cut_pieces((group + unit - 1) / unit, unit, group, to - from, cuts);
        for (uint32_t d = from; d < to; d++) {
            uint32_t count = cuts[d - from + 1] - cuts[d - from];
            h->q[d] = (npu_hex_range){head * group + cuts[d - from], count};
            h->kv[d] = (npu_hex_range){head, count > 0};
        }
    }
    return true;
}

static void cut(npu_hex_parting *p, const npu_op *op) {
    const npu_tensor *q = npu_hex_parts_operand(p, op, 0), *k = npu_hex_parts_operand(p, op, 1),
                     *v = npu_hex_parts_operand(p, op, 2);
    npu_hex_heads h = {.n_q = q->ne[1], .n_kv = k->ne[1], .d = k->ne[0], .dv = v->ne[0]};
    if (h.n_kv && h.n_q % h.n_kv == 0 && !npu_hex_parts_operand(p, op, 4) && op->params.attn.max_bias == 0) {
        uint32_t k_unit = npu__hex_parts_k_unit(p, op->layer, h.n_q * h.dv), each = heads_at_once(q, k, v, 1);
        h.cut = h.replicated = replicate(p, &h, each, k_unit);
        p->has_replicas |= h.replicated;
        if (h.replicated) {
            p->heads = h;
            return;
        }
        each = heads_at_once(q, k, v, k_unit);
        uint32_t pieces = each ? (h.n_kv + each - 1) / each : 1, group = h.n_q / h.n_kv, cuts[NPU_HEX_DEVICES + 1];
        h.cut = pieces > 1;
        npu_hex_cut_pieces(h.cut ? pieces : 1, h.cut ? each : h.n_kv, h.n_kv, p->n, cuts);
        for (uint32_t d = 0; d < p->n; d++) {
            h.kv[d] = (npu_hex_range){cuts[d], cuts[d + 1] - cuts[d]};
            h.q[d] = (npu_hex_range){cuts[d] * group, h.kv[d].count * group};
        }
    }
    p->heads = h;
}

bool npu__hex_parts_heads(npu_hex_parting *p, const npu_op *op) {
    const npu_batch *b = p->batch;
    if (op->layer == NPU_NO_LAYER) return false;
    if (p->has_heads && p->heads_layer == op->layer) return p->heads.cut;
    p->has_heads = true;
    p->heads_layer = op->layer;
    p->heads = (npu_hex_heads){0};
    for (uint32_t i = 0; i < b->n_ops; i++)
        if (b->ops[i].code == NPU_OP_FLASH_ATTN && b->ops[i].layer == op->layer) cut(p, &b->ops[i]);
    return p->heads.cut;
}

bool npu_hex_parts_is_replica(const npu_hex_parting *p, const npu_op *op, uint32_t d) {
    const npu_hex_range *kv = p->heads.kv;
    return p->has_heads && p->heads_layer == op->layer && p->heads.replicated && d && kv[d].count && kv[d - 1].count &&
           kv[d].first == kv[d - 1].first;
}

void npu__hex_parts_cut_heads(const npu_hex_parting *p, npu_hex_parts *c, unsigned k, int dim, bool of_q,
                              uint32_t width) {
    const npu_hex_range *from = of_q ? p->heads.q : p->heads.kv;
    c->dim[k] = (int8_t)dim;
    for (uint32_t d = 0; d < p->n; d++) c->of[k][d] = (npu_hex_range){from[d].first * width, from[d].count * width};
}
