/* Stop strings in a stream of text: holds back what could be the beginning of one until it is decided, and ends the
 * text before the first one that is complete. Works on bytes, so strings may lie across any borders. Nothing is
 * allocated after creation.
 */
#ifndef NPU_SAMPLE_STOP_H
#define NPU_SAMPLE_STOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct npu_stop npu_stop;

/* |strings| are copied. INVALID ("stop.empty") for an empty one; NO_MEMORY. None at all is fine. */
npu_status npu_stop_create(const char *const *strings, const size_t *lengths, size_t n, npu_stop **out, npu_error *err);
void npu_stop_free(npu_stop *s);

/* Feeds |n| bytes, calling |give| with what is certain not to belong to a stop string. Returns true when a stop string
 * is complete: what stands before it was given, it and the rest of the input are dropped, and further input is ignored.
 */
typedef void npu_stop_give(void *context, const char *text, size_t n);
bool npu_stop_push(npu_stop *s, const char *text, size_t n, npu_stop_give *give, void *context);

/* The text ended by itself: gives what was held back. The matcher is then as new. */
void npu_stop_finish(npu_stop *s, npu_stop_give *give, void *context);

/* The index of the string that ended the text, or -1. */
int npu_stop_which(const npu_stop *s);

#endif
