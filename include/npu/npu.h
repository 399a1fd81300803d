/* libnpu: runs GGUF language models on NPUs and CPUs. This header includes the whole public interface.
 *
 *     npu_model *model;
 *     npu_context *context;
 *     npu_error err = {0};
 *     if (npu_model_open("model.gguf", NULL, &model, &err)) … err.text says what and where …
 *     if (npu_context_open(model, NULL, &context, &err)) …
 *     npu_row rows[] = {{.token = 1}, {.token = 42, .logits = true}};
 *     if (npu_decode(context, rows, 2, &err)) …
 *     const float *logits = npu_logits(context, 0);
 *     npu_context_close(context);
 *     npu_model_close(model);
 *
 * Structs named …_params may be NULL or {0}: defaults everywhere. Text is UTF-8. No function prints, exits or touches
 * signal handlers. A model may be used from any number of threads; a context from one at a time.
 */
#ifndef NPU_H
#define NPU_H

#include "npu/api.h"
#include "npu/chat.h"
#include "npu/context.h"
#include "npu/grammar.h"
#include "npu/log.h"
#include "npu/mode.h"
#include "npu/model.h"
#include "npu/profile.h"
#include "npu/sampler.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
NPU_API const char *npu_version(void);

#ifdef __cplusplus
}
#endif
#endif
