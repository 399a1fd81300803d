/* libFuzzer target of chat templates: the input is a template, rendered with a small conversation under small limits.
 */
#include <stdlib.h>

#include "chat/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char variables[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"h\\u00e9llo w\"},{\"role\":\"assistant\",\"content\":null,"
        "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":[1,2.5,true]}}}]}],\"n\":3,\"s\":\"a b\"}";
    const npu_render_params params = {.max_steps = 20000, .max_memory = 4 << 20, .max_output = 1 << 20};
    npu_template *t;
    npu_error err;
    char *text;
    size_t n;
    if (npu_template_create((const char *)data, size, &t, &err) != NPU_OK) return 0;
    json_t *json = json_loads(variables, 0, NULL);
    if (json && npu_template_render(t, json, &params, &text, &n, NULL, &err) == NPU_OK) free(text);
    json_decref(json);
    npu_template_free(t);
    return 0;
}
