/* How this project fails: what every function that returns npu_status uses. The statuses are public (npu/status.h). */
#ifndef NPU_BASE_STATUS_H
#define NPU_BASE_STATUS_H

#include "npu/status.h"

/* Fills |err| (may be NULL) and returns |status|, so that failing is one statement:
 *     return npu_fail(err, NPU_RANGE, "gguf.rows_overflow", "tensor %s: %llu rows overflow", name, n);
 * Control characters and bytes that are not UTF-8 in the formatted text are replaced, so that hostile
 * names from a file cannot break a terminal; overlong text is cut with "...". Any thread. */
__attribute__((format(printf, 4, 5))) npu_status npu_fail(npu_error *err, npu_status status, const char *code,
                                                          const char *format, ...);

#if defined(__clang_analyzer__)
/* Tells the analyzer what it can't see: a failure's status is not OK. */
#define npu_fail(err, status, ...) ((void)(npu_fail)(err, status, __VA_ARGS__), status)
#endif

/* The one control-flow macro of the project: passes a failing status up unchanged. */
#define NPU_TRY(expr)                                          \
    do {                                                       \
        npu_status npu_try_status_ = (expr);                   \
        if (npu_try_status_ != NPU_OK) return npu_try_status_; \
    } while (0)

#endif
