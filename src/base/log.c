#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void npu_log(const npu_logger *logger, npu_log_level level, const char *format, ...) {
    if (!logger || !logger->callback || level > logger->level) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    logger->callback(logger->context, level, text);
}
