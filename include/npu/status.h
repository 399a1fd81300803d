/* Status codes and error details.
 *
 * Every function of npu that can fail returns npu_status and takes an optional npu_error*, which the
 * caller owns. The error is written once, where the failure is known, with the names and numbers
 * involved. UNSUPPORTED ("try elsewhere") is the only status that may lead to a fallback; every other
 * one is reported to the user.
 */
#ifndef NPU_STATUS_H
#define NPU_STATUS_H

#include "npu/api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum npu_status {
#define NPU_STATUS(NAME, value, name, text) NPU_##NAME = value,
#include "npu/npu_status.def"
} npu_status;

/* A caller-owned record of one failure; start it at {0}. No allocation, may be copied freely. */
typedef struct npu_error {
    npu_status status;
    char code[48];  /* stable dotted name, e.g. "gguf.bad_magic"; tests and scripts match on it */
    char text[464]; /* one line, no newline: what failed, with names and numbers */
} npu_error;

/* The name of a status in lower case ("device_lost"); "unknown" for a value that is not in the list. */
NPU_API const char *npu_status_name(npu_status status);

/* The standard text of a status; never NULL. */
NPU_API const char *npu_status_text(npu_status status);

/* Fills |err| (may be NULL) and returns |status|, so that failing is one statement:
 *     return npu_fail(err, NPU_RANGE, "gguf.rows_overflow", "tensor %s: %llu rows overflow", name, n);
 * Control characters and bytes that are not UTF-8 in the formatted text are replaced, so that hostile
 * names from a file cannot break a terminal; overlong text is cut with "...". Any thread. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
npu_status
npu_fail(npu_error *err, npu_status status, const char *code, const char *format, ...);

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

#ifdef __cplusplus
}
#endif
#endif
