/* Named pieces of a transformer's graph, of which the architecture files put their models together. Each takes and
 * gives tensors of the graph under construction; a failure is kept in the graph, so nothing has to be checked in
 * between.
 */
#ifndef NPU_MODEL_BUILD_H
#define NPU_MODEL_BUILD_H

#include "model/hparams.h"
#include "model/state.h"
#include "graph/graph.h"

/* The input tensors that a step fills, and the output. NPU_NO_TENSOR: this graph has no such thing. */
typedef struct npu_build_io {
    npu_t tokens, positions, cells, spans, out_rows; /* i32: [rows], [rows], [rows], [2, rows], [outputs] */
    npu_t freqs[2];                                  /* rotary frequencies: [0] whole, [1] local layers */
    npu_t q_temp;                                    /* f32 [1, rows] */
    npu_t logits;                                    /* f32 [n_vocab, outputs] */
} npu_build_io;

typedef struct npu_build {
    npu_graph *g;
    const npu_hparams *h;
    const npu_state *state;
    float rope_scale[2]; /* of the pairs, beside freqs */
    npu_t rope_table[2];
    npu_t q_temp; /* [1, 1, rows] */
    npu_build_io io;
} npu_build;

/* Builds the model's whole graph into |b->g| (which npu_graph_finish then completes): inputs, then the architecture's
 * build(). |b| comes with g, h, state and rope_scale. */
void npu_build_model(npu_build *b);

/* Token embeddings, scaled when the model says so. */
npu_t npu_build_embed(npu_build *b);

npu_t npu_build_norm(npu_build *b, unsigned layer, npu_role role, npu_t x);

/* Query, key and value projections, norms of the heads (QK_NORM architectures), rotation, cache, attention and the
 * output projection, of the normed |x|. */
npu_t npu_build_attention(npu_build *b, unsigned layer, npu_t x);

/* Gated feed-forward of the normed |x|; |kind| is NPU_GLU_*. */
npu_t npu_build_ffn(npu_build *b, unsigned layer, npu_t x, int kind);

/* x + y, where the model says so y is scaled first. */
npu_t npu_build_residual(npu_build *b, unsigned layer, npu_t x, npu_t y);

/* In the last layer only the rows that ask for logits go on; elsewhere |x| itself. */
npu_t npu_build_out_rows(npu_build *b, unsigned layer, npu_t x);

/* The whole of a plain pre-norm transformer with a gated SiLU feed-forward: most families are this one. */
void npu_build_llama(npu_build *b);

/* Last norm, output head, scale and cap: the logits, marked as the output. */
void npu_build_head(npu_build *b, npu_t x);

#endif
