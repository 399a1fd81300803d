/* Memory for much that is read from end to end, in large pages where the system has them: with small ones a core waits
 * for addresses to be looked up. For packed weights, and for what measures how fast they could be read. */
#ifndef NPU_BASE_PAGES_H
#define NPU_BASE_PAGES_H

#include <stdint.h>

/* |bytes| of zeroes, for npu_pages_free; NULL: no memory. Pages come when they are touched. Any thread. */
void *npu_pages_alloc(uint64_t bytes);
void npu_pages_free(void *pages, uint64_t bytes);

#endif
