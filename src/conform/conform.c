/* Runs cases: makes each from its seed, gives it to the target and to the reference, and compares. See the header. */
#include "conform/conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "conform/conform_case.h"
#include "conform/conform_check.h"
#include "conform/conform_choose.h"
#include "wire/format.h"
#include "wire/op_check.h"

enum { RUNS = 3, DEFAULT_CASES = 600 };

/* One side's copies of a case's tensors. */
typedef struct side {
    npu_target *target;
    npu_buffer *buffers[NPU_CASE_TENSORS];
} side;

typedef struct runner {
    const npu_conform_params *params;
    npu_target *reference;
    npu_conform_report_fn *report;
    void *user;
    npu_conform_totals *totals;
    uint64_t image_id;
    npu_weight_ref weights[NPU_CASE_TENSORS];
} runner;

static npu_buffer_use use_of(const npu_tensor *t) {
    return t->flags & NPU_TENSOR_WEIGHT  ? NPU_BUFFER_WEIGHTS
           : t->flags & NPU_TENSOR_STATE ? NPU_BUFFER_STATE
                                         : NPU_BUFFER_COMPUTE;
}

static void free_side(const npu_case *c, side *s) {
    for (uint32_t i = 0; i < c->n_tensors; i++) s->target->ops->buffer_free(s->target, s->buffers[i]);
}

static npu_status make_side(const npu_case *c, side *s, npu_error *err) {
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        NPU_TRY(s->target->ops->buffer_alloc(s->target, c->bytes[i], use_of(&c->tensors[i]), &s->buffers[i], err));
    }
    return NPU_OK;
}

/* One submit with fresh contents and |rows| rows; |*ns|: from the submit to its end. */
static npu_status run_side(const npu_case *c, const side *s, uint8_t *const *contents, const npu_batch *batch,
                           uint64_t *ns, npu_error *err) {
    const npu_target_ops *ops = s->target->ops;
    npu_event event;
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        if (!s->buffers[i])
            return npu_fail(err, NPU_INTERNAL, "conform.buffer", "a target gave no buffer, and no error");
        memcpy(s->buffers[i]->data, contents[i], c->bytes[i]);
        NPU_TRY(ops->buffer_sync(s->target, s->buffers[i], 0, c->bytes[i], NPU_SYNC_TO_DEVICE, err));
    }
    npu_batch mine = *batch;
    mine.buffers = s->buffers;
    uint64_t start = npu_clock_ns();
    NPU_TRY(ops->submit(s->target, &mine, &event, err));
    NPU_TRY(ops->wait(s->target, event, err));
    *ns = npu_clock_ns() - start;
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        NPU_TRY(ops->buffer_sync(s->target, s->buffers[i], 0, c->bytes[i], NPU_SYNC_TO_HOST, err));
    }
    return NPU_OK;
}

static bool is_result(const npu_op *op, uint32_t tensor) {
    for (int i = 0; i < NPU_OP_DSTS; i++)
        if (op->dst[i] == tensor) return true;
    return false;
}

typedef struct outcome {
    npu_conform_verdict verdict;
    double nmse;
    char why[256];
} outcome;

static void compare(const npu_case *c, const side *got, const side *want, uint8_t *const *contents, uint8_t *map,
                    const npu_step *step, outcome *out) {
    const npu_op_info *info = npu_op_find(c->op.code);
    bool exact = got->target->caps.bit_exact;
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        if (!got->buffers[i] || !want->buffers[i]) return; /* run_side has refused it */
        npu_tensor now = npu_tensor_at_step(&c->tensors[i], step);
        bool result = is_result(&c->op, i);
        const uint8_t *bytes = got->buffers[i]->data;
        bool ok = !result || npu_check_result(&now, bytes, want->buffers[i]->data, exact, info->nmse, &out->nmse,
                                              out->why, sizeof out->why);
        ok = ok &&
             npu_check_untouched(result ? &now : NULL, bytes, contents[i], c->bytes[i], map, out->why, sizeof out->why);
        if (ok) continue;
        out->verdict = NPU_CONFORM_FAIL;
        return;
    }
}

/* Where the target gets the case's weights from. */
typedef struct weight_store {
    const npu_case *c;
    const npu_weight_ref *refs;
    uint8_t *const *contents;
} weight_store;

static npu_status give_weight(void *context, unsigned layer, npu_role role, npu_weight_part part, npu_weight *out,
                              npu_error *err) {
    const weight_store *s = context;
    for (uint32_t i = 0; i < s->c->n_tensors; i++) {
        const npu_tensor *t = &s->c->tensors[i];
        if (!(t->flags & NPU_TENSOR_WEIGHT) || s->refs[i].layer != layer || s->refs[i].role != role || part != 0)
            continue;
        *out = (npu_weight){
            .name = "case", .data = s->contents[i] + t->offset, .bytes = npu_tensor_extent(t), .type = t->type};
        memcpy(out->ne, t->ne, sizeof out->ne);
        memcpy(out->nb, t->nb, sizeof out->nb);
        return NPU_OK;
    }
    return npu_fail(err, NPU_NOT_FOUND, "conform.weight", "layer %u, role %u: no weight of this case", layer,
                    (unsigned)role);
}

static void tell_profile(const runner *r, const npu_case *c, uint32_t rows, uint64_t ns) {
    if (!r->params->profile) return;
    npu_profile_entry entry = {.op = npu_op_find(c->op.code)->name,
                               .role = npu_format_name(c->type),
                               .owner = r->params->target->ops->name,
                               .layer = UINT32_MAX,
                               .rows = rows,
                               .ops = 1,
                               .ns = ns};
    r->params->profile(r->params->profile_user, &entry);
}

static npu_status run_three_times(runner *r, npu_case *c, side *got, side *want, uint8_t *const *contents, uint8_t *map,
                                  outcome *out, npu_error *err) {
    npu_batch batch = {.image_id = ++r->image_id,
                       .tensors = c->tensors,
                       .ops = &c->op,
                       .n_tensors = c->n_tensors,
                       .n_ops = 1,
                       .n_buffers = c->n_tensors,
                       .weights = r->weights};
    NPU_TRY(make_side(c, got, err));
    NPU_TRY(make_side(c, want, err));
    weight_store store = {c, r->weights, contents};
    const npu_weight_source source = {&store, give_weight};
    NPU_TRY(got->target->ops->load_block(got->target, r->weights[0].layer, 1, &source, err));
    for (int run = 0; run < RUNS && out->verdict == NPU_CONFORM_PASS; run++) {
        /* Last with all rows: what an earlier, smaller run left behind must not show. */
        if (c->rows) batch.step.rows[NPU_ROWS_STEP] = run == RUNS - 1 ? c->rows : 1 + npu_case_below(c, c->rows);
        npu_error problem;
        uint64_t ns, ignored;
        if (run_side(c, got, contents, &batch, &ns, &problem) != NPU_OK) {
            out->verdict = problem.status == NPU_REFUSED ? NPU_CONFORM_REFUSED : NPU_CONFORM_FAIL;
            snprintf(out->why, sizeof out->why, "run %d: %.200s: %.40s", run + 1, problem.text, problem.code);
            return NPU_OK;
        }
        tell_profile(r, c, c->rows ? batch.step.rows[NPU_ROWS_STEP] : 1, ns);
        NPU_TRY(run_side(c, want, contents, &batch, &ignored, err));
        compare(c, got, want, contents, map, &batch.step, out);
    }
    return NPU_OK;
}

static npu_status run_case(runner *r, npu_case *c, outcome *out, npu_error *err) {
    const npu_target *target = r->params->target;
    const char *why = npu_op_check(&c->op, c->tensors, c->n_tensors);
    if (why)
        return npu_fail(err, NPU_INTERNAL, "conform.case", "a case of %s is not one: %s", npu_op_find(c->op.code)->name,
                        why);
    if (!target->ops->supports(&target->caps, target->mode, &c->op, c->tensors, &why)) {
        out->verdict = NPU_CONFORM_SKIP;
        snprintf(out->why, sizeof out->why, "%s", why);
        return NPU_OK;
    }
    uint64_t all = 0, most = 0;
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        all += (c->bytes[i] + 127) & ~(uint64_t)127;
        if (c->bytes[i] > most) most = c->bytes[i];
    }
    uint8_t *memory = aligned_alloc(128, all), *map = malloc(most), *contents[NPU_CASE_TENSORS];
    side got = {.target = r->params->target}, want = {.target = r->reference};
    npu_status status = NPU_OK;
    if (memory && map) {
        memset(memory, NPU_CASE_POISON, all);
        uint8_t *at = memory;
        for (uint32_t i = 0; i < c->n_tensors; i++, at += (c->bytes[i - 1] + 127) & ~(uint64_t)127) {
            contents[i] = at;
            npu_case_fill_tensor(c, i, at);
            r->weights[i] = (npu_weight_ref){.layer = (uint16_t)(r->image_id % NPU_NO_LAYER), .role = (uint16_t)i};
        }
        status = run_three_times(r, c, &got, &want, contents, map, out, err);
        free_side(c, &got);
        free_side(c, &want);
    } else {
        status = npu_fail(err, NPU_NO_MEMORY, "conform.memory", "no memory for a case of %llu bytes",
                          (unsigned long long)all);
    }
    free(memory);
    free(map);
    return status;
}

static void describe(const npu_case *c, char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < NPU_OP_SRCS + NPU_OP_DSTS; i++) {
        bool source = i < NPU_OP_SRCS;
        uint16_t index = source ? c->op.src[i] : c->op.dst[i - NPU_OP_SRCS];
        if (index == NPU_NO_TENSOR || used >= size) continue;
        const npu_tensor *t = &c->tensors[index];
        used += (size_t)snprintf(out + used, size - used, "%s%s%d %s[%u,%u,%u,%u]", used ? " " : "",
                                 source ? "src" : "dst", source ? i : i - NPU_OP_SRCS, npu_format_name(t->type),
                                 t->ne[0], t->ne[1], t->ne[2], t->ne[3]);
        bool dense = true;
        uint32_t values;
        uint64_t next = npu_tensor_unit(t, &values);
        for (int d = 0; d < NPU_MAX_DIMS; d++) {
            dense = dense && t->nb[d] == next;
            next *= d ? t->ne[d] : t->ne[0] / values;
        }
        if (!dense && used < size) used += (size_t)snprintf(out + used, size - used, " strided");
    }
}

static npu_status one(runner *r, const npu_case_row *row, uint32_t type, uint64_t seed, npu_error *err) {
    const npu_op_info *info = npu_op_find(row->op);
    npu_case c = {
        .random = seed * 0x2545F4914F6CDD1Dull ^ row->op << 8 ^ type, .type = type, .op.code = (uint16_t)row->op};
    outcome out = {.verdict = NPU_CONFORM_PASS};
    memset(c.op.src, 0xFF, sizeof c.op.src);
    memset(c.op.dst, 0xFF, sizeof c.op.dst);
    c.op.layer = NPU_NO_LAYER;
    c.step = npu_case_below(&c, 2);
    row->generate(&c);
    NPU_TRY(run_case(r, &c, &out, err));
    char shapes[512];
    describe(&c, shapes, sizeof shapes);
    uint32_t *const totals[] = {[NPU_CONFORM_PASS] = &r->totals->passed,
                                [NPU_CONFORM_FAIL] = &r->totals->failed,
                                [NPU_CONFORM_SKIP] = &r->totals->skipped,
                                [NPU_CONFORM_REFUSED] = &r->totals->refused};
    ++*totals[out.verdict];
    npu_conform_report report = {out.verdict, info->name, npu_format_name(type), seed, shapes, out.why, out.nmse};
    if (r->report) r->report(r->user, &report);
    return NPU_OK;
}

npu_status npu_conform_run(const npu_conform_params *params, npu_conform_report_fn *report, void *user,
                           npu_conform_totals *totals, npu_error *err) {
    *totals = (npu_conform_totals){0};
    const npu_case_row *row;
    uint32_t type, cases = params->cases ? params->cases : DEFAULT_CASES;
    if (!npu_case_choose(params, 0, &row, &type)) return npu_case_none(params, err);
    if (!params->target->ops->submit) {
        return npu_fail(err, NPU_UNSUPPORTED, "conform.target", "%s runs no graph ops", params->target->ops->name);
    }
    npu_target_params reference = {.mode = params->target->mode, .n_threads = 1, .cpu_level = "ref"};
    runner r = {.params = params, .report = report, .user = user, .totals = totals};
    NPU_TRY(npu_target_host.open(&reference, NULL, NULL, &r.reference, err));
    npu_status status = NPU_OK;
    for (uint32_t i = 0; i < cases && status == NPU_OK; i++) {
        npu_case_choose(params, i, &row, &type);
        if (params->go_on && (status = params->go_on(err)) != NPU_OK) break;
        status = one(&r, row, type, params->seed + i, err);
    }
    npu_target_host.close(r.reference);
    return status;
}
