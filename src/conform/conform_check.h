/* Comparing what a target left in its buffers with what was there and with the reference. */
#ifndef NPU_CONFORM_CHECK_H
#define NPU_CONFORM_CHECK_H

#include "conform/conform_case.h"

/* The result tensor |now| (step applied) in |got| against |want|, both whole buffers. With |exact|: bytes, NaN as a
 * class. Else the normalised mean-square error must be at most |limit|. False: |why| says what differs. */
bool npu_check_result(const npu_tensor *now, const uint8_t *got, const uint8_t *want, bool exact, double limit,
                      double *nmse, char *why, size_t why_size);

/* Whether all bytes of the buffer outside the elements of |written| (NULL = none are) are as in |before|. */
bool npu_check_untouched(const npu_tensor *written, const uint8_t *got, const uint8_t *before, uint64_t bytes,
                         uint8_t *map, char *why, size_t why_size);

#endif
