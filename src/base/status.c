/* Status names and the one place where error texts are made. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static const struct {
    npu_status status;
    const char *name;
    const char *text;
} statuses[] = {
#define NPU_STATUS(NAME, value, name, text) {NPU_##NAME, name, text},
#include "npu/npu_status.def"
};

enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

const char *npu_status_name(npu_status status) {
    for (int i = 0; i < STATUS_COUNT; i++)
        if (statuses[i].status == status) return statuses[i].name;
    return "unknown";
}

const char *npu_status_text(npu_status status) {
    for (int i = 0; i < STATUS_COUNT; i++)
        if (statuses[i].status == status) return statuses[i].text;
    return "unknown status";
}

npu_status(npu_fail)(npu_error *err, npu_status status, const char *code, const char *format, ...) {
    if (!err) return status;
    err->status = status;
    snprintf(err->code, sizeof err->code, "%s", code);

    char raw[sizeof err->text * 2];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    npu_utf8_sanitize(err->text, sizeof err->text, raw, n < 0 ? 0 : strnlen(raw, sizeof raw));
    return status;
}
