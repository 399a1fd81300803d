/* Chat templates: the part of the Jinja language that models' templates use, as Hugging Face configures it (blocks
 * trimmed, an immutable sandbox, loop controls, tojson, raise_exception, strftime_now, generation blocks).
 *
 * Which bytes of the result are the template's own and which came from the variables is followed through all that a
 * template does with strings, so that the names of special tokens count in the former only.
 *
 * Templates come from model files and are hostile: parsing and rendering are bounded in nesting, steps, memory and
 * output, and nothing but the given variables can be reached. Errors give line and column. Callers: cli/, serve/.
 */
#ifndef NPU_CHAT_TEMPLATE_H
#define NPU_CHAT_TEMPLATE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/status.h"

typedef struct npu_template npu_template;

/* Parses |source|, which is copied. INVALID ("chat.syntax", "chat.utf8"), RANGE ("chat.limit": nested too deeply, too
 * large), NO_MEMORY. A template is not written afterwards: any number of threads may render it. */
npu_status npu_template_create(const char *source, size_t size, npu_template **out, npu_error *err);
void npu_template_free(npu_template *t);

/* {0}: the defaults. */
typedef struct npu_render_params {
    uint64_t max_steps;   /* 0: 20 million */
    size_t max_memory;    /* 0: 256 MiB, of values */
    size_t max_output;    /* 0: 64 MiB */
    const struct tm *now; /* what strftime_now formats; NULL: the local time */
} npu_render_params;

/* Renders with the members of the object |variables| (messages, tools, add_generation_prompt, bos_token …). The text is
 * allocated with malloc, *size bytes and a zero; *marks too when |marks| is not NULL: 1 for each byte that came from
 * the variables, else 0. Not marked are variables named "…_token", which the model gives, and the usual values of
 * "role", from which some templates put tokens together. INVALID ("chat.render": a type error and the like;
 * "chat.raised": the template itself refused, with its own words), RANGE ("chat.limit"), NO_MEMORY. */
npu_status npu_template_render(const npu_template *t, const json_t *variables, const npu_render_params *params,
                               char **text, size_t *size, char **marks, npu_error *err);

#endif
