/* Typed reading of an architecture's keys; see keys.h. */
#include "model/keys.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/arch.h"

enum { KEY_SIZE = sizeof(((npu_plan_fact *)0)->key) };

static void full_key(const npu_keys *k, const char *key, char out[KEY_SIZE]) {
    snprintf(out, KEY_SIZE, "%s.%s", k->h->arch->name, key);
}

const npu_gguf_value *npu_keys_find(const npu_keys *k, const char *key) {
    char full[KEY_SIZE];
    full_key(k, key, full);
    return npu_gguf_find(k->gguf, full);
}

void npu_keys_fail(npu_keys *k, npu_status status, const char *key, const char *format, ...) {
    if (k->status != NPU_OK) return;
    char text[256], full[KEY_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    full_key(k, key, full);
    k->status = npu_fail(k->err, status, status == NPU_REFUSED ? "model.key_refused" : "model.key_invalid",
                         "key %s: %s", full, text);
}

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static void
record(npu_keys *k, const char *name, const char *full, const char *format, ...) {
    if (k->status != NPU_OK) return;
    if (k->h->n_facts == NPU_MAX_FACTS) {
        k->status = npu_fail(k->err, NPU_INTERNAL, "model.facts", "more than %d facts", NPU_MAX_FACTS);
        return;
    }
    npu_plan_fact *fact = &k->h->facts[k->h->n_facts++];
    *fact = (npu_plan_fact){0};
    snprintf(fact->name, sizeof fact->name, "%s", name);
    snprintf(fact->key, sizeof fact->key, "%s", full);
    va_list args;
    va_start(args, format);
    vsnprintf(fact->value, sizeof fact->value, format, args);
    va_end(args);
}

/* Takes the outcome of one typed read: true to go on and record it. */
static bool taken(npu_keys *k, npu_status status) {
    if (status == NPU_OK) return true;
    if (status != NPU_NOT_FOUND) k->status = status;
    return false;
}

bool npu_keys_u32(npu_keys *k, const char *name, const char *key, uint32_t *out) {
    char full[KEY_SIZE];
    full_key(k, key, full);
    if (k->status != NPU_OK || !npu_gguf_find(k->gguf, full)) return false;
    if (!taken(k, npu_gguf_get_u32(k->gguf, full, out, k->err))) return false;
    record(k, name, full, "%u", *out);
    return true;
}

bool npu_keys_f32(npu_keys *k, const char *name, const char *key, float *out) {
    char full[KEY_SIZE];
    float value;
    full_key(k, key, full);
    if (k->status != NPU_OK || !npu_gguf_find(k->gguf, full)) return false;
    if (!taken(k, npu_gguf_get_f32(k->gguf, full, &value, k->err))) return false;
    if (!isfinite(value)) {
        npu_keys_fail(k, NPU_INVALID, key, "must be finite, is %g", (double)value);
        return false;
    }
    *out = value;
    record(k, name, full, "%.9g", (double)value);
    return true;
}

bool npu_keys_bool(npu_keys *k, const char *name, const char *key, bool *out) {
    char full[KEY_SIZE];
    full_key(k, key, full);
    if (k->status != NPU_OK || !npu_gguf_find(k->gguf, full)) return false;
    if (!taken(k, npu_gguf_get_bool(k->gguf, full, out, k->err))) return false;
    record(k, name, full, "%s", *out ? "true" : "false");
    return true;
}

bool npu_keys_str(npu_keys *k, const char *name, const char *key, char *out, size_t size) {
    char full[KEY_SIZE];
    npu_gguf_str s;
    full_key(k, key, full);
    if (k->status != NPU_OK || !npu_gguf_find(k->gguf, full)) return false;
    if (!taken(k, npu_gguf_get_str(k->gguf, full, &s, k->err))) return false;
    snprintf(out, size, "%.*s", s.size < 64 ? (int)s.size : 64, s.data);
    record(k, name, full, "%s", out);
    return true;
}

void npu_keys_need_u32(npu_keys *k, const char *name, const char *key, uint32_t *out) {
    if (!npu_keys_u32(k, name, key, out)) npu_keys_fail(k, NPU_INVALID, key, "is missing");
}

void npu_keys_need_f32(npu_keys *k, const char *name, const char *key, float *out) {
    if (!npu_keys_f32(k, name, key, out)) npu_keys_fail(k, NPU_INVALID, key, "is missing");
}

/* One element as a number; flags count as 0 and 1. */
static npu_status layer_value(npu_keys *k, const char *full, uint32_t layer, uint32_t *value) {
    if (npu_gguf_find(k->gguf, full)->elem_type != NPU_GGUF_BOOL)
        return npu_gguf_get_u32_at(k->gguf, full, layer, value, k->err);
    bool flag;
    NPU_TRY(npu_gguf_get_bool_at(k->gguf, full, layer, &flag, k->err));
    *value = flag;
    return NPU_OK;
}

bool npu_keys_layers(npu_keys *k, const char *name, const char *key,
                     void (*set)(npu_layer_hparams *l, uint32_t value)) {
    char full[KEY_SIZE];
    full_key(k, key, full);
    if (k->status != NPU_OK || !npu_gguf_find(k->gguf, full)) return false;
    uint32_t low = UINT32_MAX, high = 0;
    for (uint32_t i = 0; i < k->h->n_layers; i++) {
        uint32_t value;
        if (!taken(k, layer_value(k, full, i, &value))) return false;
        set(&k->h->layers[i], value);
        if (value < low) low = value;
        if (value > high) high = value;
    }
    if (low == high) {
        record(k, name, full, "%u", low);
    } else {
        record(k, name, full, "%u to %u by layer", low, high);
    }
    return true;
}

/* Keys that change results in some architecture, with the value that changes nothing; NAN: none does. */
static const struct {
    const char *key;
    double neutral;
} foreign[] = {
    {"expert_count", 0},
    {"expert_used_count", 0},
    {"expert_shared_count", 0},
    {"attention.clamp_kqv", 0},
    {"attention.max_alibi_bias", 0},
    {"attn_logit_softcapping", 0},
    {"router_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"logit_scale", 1},
    {"embedding_scale", 1},
    {"residual_scale", 1},
    {"attention.output_scale", 1},
    {"attention.value_scale", 1},
    {"attention.temperature_scale", 0},
    {"attention.temperature_length", 0},
    {"attention.causal", 1},
    {"attention.q_lora_rank", 0},
    {"attention.kv_lora_rank", 0},
    {"attention.key_length_mla", 0},
    {"attention.value_length_mla", 0},
    {"attention.shared_kv_layers", 0},
    {"attention.sliding_window", 0},
    {"attention.sliding_window_pattern", 1},
    {"attention.rope_pattern", NAN},
    {"use_parallel_residual", 0},
    {"swin_norm", 0},
    {"rescale_every_n_layers", 0},
    {"nextn_predict_layers", 0},
    {"deepstack_mapping", NAN},
    {"n_deepstack_layers", 0},
    {"embedding_length_per_layer_input", 0},
    {"full_attention_interval", 0},
    {"num_loops", 1},
    {"rope.dimension_sections", NAN},
    {"rope.scaling.alpha", 0},
    {"rope.freq_base_swa", NAN},
    {"adapters.count", 0},
};

static bool was_read(const npu_keys *k, const char *full) {
    for (uint32_t i = 0; i < k->h->n_facts; i++)
        if (!strcmp(k->h->facts[i].key, full)) return true;
    return false;
}

/* Whether all numbers of a value are |neutral|. */
static bool is_neutral(const npu_gguf_value *value, double neutral) {
    for (uint64_t i = 0; i < value->count; i++) {
        int64_t whole;
        uint64_t big;
        double number;
        if (value->elem_type == NPU_GGUF_BOOL) {
            number = value->data[i] != 0;
        } else if (npu_gguf_value_int(value, i, &whole, &big)) {
            number = (double)whole;
        } else if (!npu_gguf_value_float(value, i, &number)) {
            return false;
        }
        if (!(number == neutral)) return false;
    }
    return true;
}

void npu_keys_refuse_foreign(npu_keys *k) {
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0] && k->status == NPU_OK; i++) {
        char full[KEY_SIZE];
        full_key(k, foreign[i].key, full);
        const npu_gguf_value *value = npu_gguf_find(k->gguf, full);
        if (value && !was_read(k, full) && !is_neutral(value, foreign[i].neutral))
            npu_keys_fail(k, NPU_REFUSED, foreign[i].key, "states something that is not supported for architecture %s",
                          k->h->arch->name);
    }
}
