/* The weights of a model by (layer, role, part): which GGUF tensor is what, checked against the hyper-parameters.
 *
 * A tensor that is missing or has another shape than the metadata says is refused by name, and so is one that belongs
 * to a model's layers but not to this architecture: leaving it out would change results. Tensors outside the layers
 * with names that no architecture uses are ignored. Constant after opening; the weight source may be used by any
 * thread.
 */
#ifndef NPU_MODEL_WEIGHTS_H
#define NPU_MODEL_WEIGHTS_H

#include "model/hparams.h"
#include "target/weights.h"

typedef struct npu_weights {
    const npu_gguf *gguf;
    const npu_hparams *h;
    const npu_gguf_tensor **slots; /* [n_layers + 1][roles][parts]; the last layer is "outside the layers" */
    const npu_gguf_tensor *rope_long, *rope_short;
    uint64_t used_bytes;
} npu_weights;

/* |gguf| and |h| must outlive it. Sets h->n_vocab first. INVALID, REFUSED: see above; NO_MEMORY. */
npu_status npu_weights_open(const npu_gguf *gguf, npu_hparams *h, npu_weights *out, npu_error *err);
void npu_weights_close(npu_weights *w);

/* NULL when the model has no such weight. An output head that the file does not have is the embedding. */
const npu_gguf_tensor *npu_weights_find(const npu_weights *w, unsigned layer, npu_role role, npu_weight_part part);

/* The same as the interface that graphs and targets use; valid as long as |w|. */
npu_weight_source npu_weights_source(npu_weights *w);

#endif
