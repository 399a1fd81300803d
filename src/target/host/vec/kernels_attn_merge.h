/* FLASH_ATTN on vectors: results of chunks become those of rows, in the order of the contract. A template as
 * kernels_map.h; part of kernels_attn.h.
 */
/* The next chunk's result (m, l, acc) onto the running one. */
static void merge(float *m_all, float *l_all, float *acc_all, float m_next, float l_next, const float *acc,
                  uint32_t width) {
    float m = npu_maxf(*m_all, m_next), a = npu_expf(*m_all - m), b = npu_expf(m_next - m);
    *l_all = npu_fmaf(l_next, b, *l_all * a);
    for (uint32_t i = 0; i < width; i += VW) {
        vf old = vf_mul(vf_load(acc_all + i), vf_set(a));
        vf_store(acc_all + i, vf_fma(vf_load(acc + i), vf_set(b), old));
    }
    *m_all = m;
}

static void end_chunk(attn_tile *t, uint32_t row, uint32_t chunk) {
    attn_row *r = &t->rows[row];
    float m = t->m[row], l = t->l[row];
    if (r->part) {
        float *part = r->part + (size_t)(chunk / CHUNK) * (t->width + PART_HEAD);
        part[0] = m;
        part[1] = l;
        memcpy(part + PART_HEAD, r->acc, t->width * sizeof(float));
        return;
    }
    if (m == -NPU_F32_INF) return;
    if (r->m_all == -NPU_F32_INF) {
        float *empty = r->acc_all;
        r->acc_all = r->acc;
        r->acc = empty;
        r->m_all = m;
        r->l_all = l;
        return;
    }
    merge(&r->m_all, &r->l_all, r->acc_all, m, l, r->acc, t->width);
}

static void finish_row(const attn_row *r, uint32_t dv) {
    float keep = 1, l = r->l_all;
    if (r->m_all == -NPU_F32_INF) {
        for (uint32_t i = 0; i < dv; i++) r->y[i] = 0;
        return;
    }
    if (r->sink) {
        float m = npu_maxf(r->m_all, *r->sink);
        keep = npu_expf(r->m_all - m);
        l = npu_fmaf(l, keep, npu_expf(*r->sink - m));
    }
    vf factor = vf_set(1.0f / l);
    for (uint32_t i = 0; i < dv; i += VW) {
        vf y = vf_mul(vf_mul(vf_load(r->acc_all + i), vf_set(keep)), factor);
        if (dv - i < VW)
            vf_store_part(r->y + i, y, (int)(dv - i));
        else
            vf_store(r->y + i, y);
    }
}

/* Merges the chunks of this thread's rows. */
static void merge_parts(const attn_work *w, attn_tile *t) {
    const npu_tensor *q = &w->call->src[0].t;
    uint64_t from, to;
    npu_host_split(w->call, (uint64_t)q->ne[1] * q->ne[2], &from, &to);
    for (uint64_t row = from; row < to; row++) {
        attn_row r = make_row(w, (uint32_t)(row / q->ne[1]), (uint32_t)(row % q->ne[1]));
        r.acc_all = t->acc;
        for (uint32_t c = r.lo / CHUNK; c < attn_chunks(r.n); c++) {
            float *part = r.part + (size_t)c * (t->width + PART_HEAD);
            if (part[0] == -NPU_F32_INF) continue;
            if (r.m_all == -NPU_F32_INF) {
                r.acc_all = part + PART_HEAD;
                r.m_all = part[0];
                r.l_all = part[1];
            } else {
                merge(&r.m_all, &r.l_all, r.acc_all, part[0], part[1], part + PART_HEAD, t->width);
            }
        }
        finish_row(&r, t->dv);
    }
}
