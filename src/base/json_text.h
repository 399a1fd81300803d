/* JSON as text, whole or not at all. */
#ifndef NPU_BASE_JSON_TEXT_H
#define NPU_BASE_JSON_TEXT_H

#include <jansson.h>

/* |json| with jansson's JSON_… flags, for free(). NULL: no memory, or it can't be told. In place of json_dumps, which
 * (2.14) leaves a key out and goes on when the memory for it can't be had. */
char *npu_json_text(const json_t *json, size_t flags);

#endif
