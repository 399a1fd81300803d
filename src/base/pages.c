#include "base/pages.h"

#include <stddef.h>
#include <sys/mman.h>

void *npu_pages_alloc(uint64_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    madvise(p, bytes, MADV_HUGEPAGE); /* advice: failing changes nothing */
    return p;
}

void npu_pages_free(void *pages, uint64_t bytes) {
    munmap(pages, bytes);
}
