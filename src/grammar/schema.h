/* JSON schemas as programs over bytes. What the program lets through is JSON that the schema allows; of the many ways
 * to write a value it takes some: members in the order of "properties", none that is not named there, little white
 * space, numbers with few digits. Caller: grammar.c.
 */
#ifndef NPU_GRAMMAR_SCHEMA_H
#define NPU_GRAMMAR_SCHEMA_H

#include "grammar/program.h"

/* |schema| is JSON text; NULL: any object. Keywords that are not understood are refused, by name and place ("schema.
 * keyword"), as are schemas that nothing fits ("schema.empty") and impossible values ("schema.value"); INVALID
 * ("schema.json"), RANGE ("grammar.size"), NO_MEMORY. Free |out| with npu__program_free, after a failure too. */
npu_status npu__schema_compile(const char *schema, size_t size, npu__program *out, npu_error *err);

#endif
