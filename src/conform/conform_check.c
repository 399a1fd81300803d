/* Comparison of results and of everything around them; see the header. */
#include "conform/conform_check.h"

#include <stdio.h>
#include <string.h>

#include "quant/quant.h"
#include "wire/op_check.h"

typedef bool element_fn(void *context, uint64_t offset, const uint32_t at[4]);

/* Calls |fn| for each element or block, in order, until it says false. */
static bool for_each(const npu_tensor *t, element_fn *fn, void *context) {
    uint32_t values;
    npu_tensor_unit(t, &values);
    for (uint32_t i3 = 0; i3 < t->ne[3]; i3++) {
        for (uint32_t i2 = 0; i2 < t->ne[2]; i2++) {
            for (uint32_t i1 = 0; i1 < t->ne[1]; i1++) {
                for (uint32_t i0 = 0; i0 < t->ne[0] / values; i0++) {
                    uint64_t offset = t->offset + i0 * t->nb[0] + i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3];
                    if (!fn(context, offset, (uint32_t[]){i0, i1, i2, i3})) return false;
                }
            }
        }
    }
    return true;
}

typedef struct comparison {
    const npu_tensor *t;
    const uint8_t *got, *want;
    uint32_t values, unit;
    bool exact;
    double error, power;
    char *why;
    size_t why_size;
} comparison;

static bool same(const comparison *c, const float *a, const float *b, const uint8_t *got, const uint8_t *want) {
    if (memcmp(got, want, c->unit) == 0) return true;
    for (uint32_t i = 0; i < c->values; i++)
        if (a[i] == a[i] || b[i] == b[i]) return false;
    return c->t->type != NPU_TYPE_I32; /* all NaN on both sides */
}

static bool compare(void *context, uint64_t offset, const uint32_t at[4]) {
    comparison *c = context;
    const uint8_t *got = c->got + offset, *want = c->want + offset;
    float a[256] = {0}, b[256] = {0};
    if (c->t->type == NPU_TYPE_I32) {
        int32_t x, y;
        memcpy(&x, got, sizeof x);
        memcpy(&y, want, sizeof y);
        a[0] = (float)x, b[0] = (float)y;
    } else {
        npu_quant_of(c->t->type)->dequant(got, a, c->values);
        npu_quant_of(c->t->type)->dequant(want, b, c->values);
    }
    bool ok = true;
    if (c->exact || c->t->type == NPU_TYPE_I32) {
        ok = same(c, a, b, got, want);
    } else {
        for (uint32_t i = 0; i < c->values && ok; i++) {
            bool finite = b[i] - b[i] == 0;
            ok = finite ? a[i] - a[i] == 0 : a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]);
            if (!finite) continue;
            c->error += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
            c->power += (double)b[i] * (double)b[i];
        }
    }
    if (!ok) {
        uint32_t i = 0;
        while (i + 1 < c->values && (a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))) i++;
        snprintf(c->why, c->why_size, "result[%u,%u,%u,%u] is %.9g (%a), the reference has %.9g (%a)",
                 at[0] * c->values + i, at[1], at[2], at[3], (double)a[i], (double)a[i], (double)b[i], (double)b[i]);
    }
    return ok;
}

bool npu_check_result(const npu_tensor *now, const uint8_t *got, const uint8_t *want, bool exact, double limit,
                      double *nmse, char *why, size_t why_size) {
    comparison c = {.t = now, .got = got, .want = want, .exact = exact, .why = why, .why_size = why_size};
    c.unit = npu_tensor_unit(now, &c.values);
    if (!for_each(now, compare, &c)) return false;
    double ratio = c.error == 0 ? 0 : c.error / (c.power > 0 ? c.power : 1e-30);
    if (ratio > *nmse) *nmse = ratio;
    if (ratio <= limit) return true;
    snprintf(why, why_size, "normalised mean-square error %.3g, the limit is %.3g", ratio, limit);
    return false;
}

typedef struct marking {
    uint8_t *map;
    uint32_t unit;
} marking;

static bool mark(void *context, uint64_t offset, const uint32_t at[4]) {
    (void)at;
    const marking *m = context;
    memset(m->map + offset, 1, m->unit);
    return true;
}

bool npu_check_untouched(const npu_tensor *written, const uint8_t *got, const uint8_t *before, uint64_t bytes,
                         uint8_t *map, char *why, size_t why_size) {
    if (memcmp(got, before, bytes) == 0) return true;
    memset(map, 0, bytes);
    if (written) {
        uint32_t values;
        marking m = {map, npu_tensor_unit(written, &values)};
        for_each(written, mark, &m);
    }
    for (uint64_t i = 0; i < bytes; i++) {
        if (map[i] || got[i] == before[i]) continue;
        snprintf(why, why_size, "byte %llu of %llu was written, which belongs to no result", (unsigned long long)i,
                 (unsigned long long)bytes);
        return false;
    }
    return true;
}
