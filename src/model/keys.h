/* Reading an architecture's keys: the prefix is added, the value is recorded as a fact, and the reading stands for
 * "this key is applied". The first failure is kept and ends all further reading, so that lists of keys read like lists.
 */
#ifndef NPU_MODEL_KEYS_H
#define NPU_MODEL_KEYS_H

#include "model/hparams.h"

typedef struct npu_keys {
    const npu_gguf *gguf;
    npu_hparams *h;
    npu_status status;
    npu_error *err;
} npu_keys;

/* Each leaves |*out| alone when the key is absent. |name| is what plans call the fact. Return whether it was there. */
bool npu_keys_u32(npu_keys *k, const char *name, const char *key, uint32_t *out);
bool npu_keys_f32(npu_keys *k, const char *name, const char *key, float *out);
bool npu_keys_bool(npu_keys *k, const char *name, const char *key, bool *out);
bool npu_keys_str(npu_keys *k, const char *name, const char *key, char *out, size_t size);

/* The same for a key that must be there. */
void npu_keys_need_u32(npu_keys *k, const char *name, const char *key, uint32_t *out);
void npu_keys_need_f32(npu_keys *k, const char *name, const char *key, float *out);

/* One value for each layer, or the same for all; false when the key is absent. |set| stores one. */
bool npu_keys_layers(npu_keys *k, const char *name, const char *key, void (*set)(npu_layer_hparams *l, uint32_t value));

/* Whether the file has "ARCH.key", and whether that is an array. */
const npu_gguf_value *npu_keys_find(const npu_keys *k, const char *key);

/* Records a failure that names "ARCH.key"; the first one stays. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void npu_keys_fail(npu_keys *k, npu_status status, const char *key, const char *format, ...);

/* Refuses keys that change results, hold something else than "no change", and have not been read. */
void npu_keys_refuse_foreign(npu_keys *k);

#endif
