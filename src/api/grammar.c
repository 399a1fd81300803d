/* Grammars for the public interface (npu/grammar.h): a schema's program and the masks that it makes of the vocabulary.
 */
#include <stdlib.h>

#include "api/api.h"
#include "grammar/mask.h"
#include "grammar/schema.h"

struct npu_grammar {
    npu__program program;
    npu__masks *masks;
};

npu_status npu_grammar_create(const npu_model *model, const char *schema, size_t size, npu_grammar **out,
                              npu_error *err) {
    *out = NULL;
    if (!model->tokenizer)
        return npu_fail(err, NPU_INVALID, "model.no_tokenizer", "the model was opened without its tokenizer");
    npu_grammar *g = calloc(1, sizeof *g);
    if (!g) return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for a grammar");
    npu_status status = npu__schema_compile(schema, size, &g->program, err);
    if (status == NPU_OK) status = npu__masks_create(model->tokenizer, model->h.n_vocab, &g->program, &g->masks, err);
    if (status == NPU_OK) {
        *out = g;
    } else {
        npu_grammar_free(g);
    }
    return status;
}

void npu_grammar_free(npu_grammar *g) {
    if (!g) return;
    npu__masks_free(g->masks);
    npu__program_free(&g->program);
    free(g);
}

npu_status npu_grammar_allowed(npu_grammar *g, const uint64_t **mask, npu_error *err) {
    return npu__masks_allowed(g->masks, mask, err);
}

npu_status npu_grammar_accept(npu_grammar *g, int32_t id, npu_error *err) {
    bool taken;
    NPU_TRY(npu__masks_accept(g->masks, id, &taken, err));
    if (taken) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "grammar.token", "token %d may not come here", (int)id);
}

bool npu_grammar_is_complete(const npu_grammar *g) {
    return npu__masks_may_end(g->masks);
}

bool npu_grammar_is_finished(const npu_grammar *g) {
    return npu__masks_may_end(g->masks) && !npu__masks_may_go_on(g->masks);
}

npu_status npu_grammar_reset(npu_grammar *g, npu_error *err) {
    return npu__masks_start(g->masks, err);
}
