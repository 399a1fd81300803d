/* Renders chat templates for test scripts: one JSON object a line on standard input, {"template": …, "variables": {…}};
 * for each a line of JSON, {"text": …} or {"error": …, "code": …}. The time that strftime_now sees is fixed.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat/template.h"

static json_t *render(const json_t *request) {
    const json_t *source = json_object_get(request, "template"), *variables = json_object_get(request, "variables");
    const struct tm now = {
        .tm_year = 124, .tm_mon = 6, .tm_mday = 26, .tm_hour = 10, .tm_min = 5, .tm_wday = 5, .tm_yday = 207};
    const npu_render_params params = {.now = &now};
    npu_template *t = NULL;
    npu_error err = {0};
    char *text = NULL;
    size_t size = 0;
    npu_status status = npu_template_create(json_string_value(source), json_string_length(source), &t, &err);
    if (status == NPU_OK) status = npu_template_render(t, variables, &params, &text, &size, NULL, &err);
    json_t *answer = status == NPU_OK ? json_pack("{s:s%}", "text", text, size)
                                      : json_pack("{s:s,s:s}", "error", err.text, "code", err.code);
    free(text);
    npu_template_free(t);
    return answer;
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 0) {
        json_t *request = json_loadb(line, (size_t)n, 0, NULL), *answer = request ? render(request) : NULL;
        if (!answer) return 1;
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(answer);
        json_decref(request);
    }
    free(line);
    return 0;
}
