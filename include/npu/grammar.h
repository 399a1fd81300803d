/* Answers that are JSON: a grammar says, token by token, what may come next, as the mask that npu_sampler_sample takes.
 *
 *     npu_grammar_allowed(grammar, &mask, &err)  →  npu_sampler_sample(sampler, logits, mask, &id, &err)
 *     →  npu_grammar_accept(grammar, id, &err)
 *
 * Masks are worked out once for each situation and kept, up to 64 MiB. One thread at a time.
 */
#ifndef NPU_GRAMMAR_H
#define NPU_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/api.h"
#include "npu/model.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_grammar npu_grammar;

/* |schema| is a JSON schema (type, properties, required, additionalProperties, enum, const, items, min/maxItems,
 * min/maxLength, minimum and maximum, exclusive too, anyOf, $ref within the document), |size| bytes that stay the
 * caller's; NULL: any JSON object. The model must outlive *out; on failure it is NULL. REFUSED, what is right but not
 * known here ("schema.keyword", by name; "schema.ref": to another document; "schema.value"), INVALID ("schema.json",
 * "schema.value", "schema.ref"; "schema.empty": nothing fits; "model.no_tokenizer"), RANGE ("grammar.size": the schema
 * is too large; "grammar.states"), NO_MEMORY. */
NPU_API npu_status npu_grammar_create(const npu_model *model, const char *schema, size_t size, npu_grammar **out,
                                      npu_error *err);
NPU_API void npu_grammar_free(npu_grammar *g); /* NULL is fine */

/* A bit for each token, 64 in a word, lowest first, valid until the next call. End tokens are among them where the text
 * may end. RANGE ("grammar.states": the schema leaves too many ways open at once), NO_MEMORY: the grammar stays where
 * it is. */
NPU_API npu_status npu_grammar_allowed(npu_grammar *g, const uint64_t **mask, npu_error *err);

/* The token that came. INVALID ("grammar.token") when it was not allowed, RANGE ("grammar.states"), NO_MEMORY; nothing
 * changes then. */
NPU_API npu_status npu_grammar_accept(npu_grammar *g, int32_t id, npu_error *err);

/* Whether the text so far is whole, and whether moreover nothing can follow. */
NPU_API bool npu_grammar_is_complete(const npu_grammar *g);
NPU_API bool npu_grammar_is_finished(const npu_grammar *g);

/* To the beginning of a text; what was worked out is kept. RANGE ("grammar.states"), NO_MEMORY. */
NPU_API npu_status npu_grammar_reset(npu_grammar *g, npu_error *err);

#ifdef __cplusplus
}
#endif
#endif
