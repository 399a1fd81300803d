/* Status codes and error details.
 *
 * Every function of npu that can fail returns npu_status and takes an optional npu_error*, which the
 * caller owns; NULL is fine. The error is written once, where the failure is known, with the names and
 * numbers involved, and only on failure. UNSUPPORTED ("try elsewhere") is the only status that may lead to a
 * fallback; every other one is reported to the user.
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

#ifdef __cplusplus
}
#endif
#endif
