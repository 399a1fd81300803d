/* Loaded in front of the C library by a test: the file that NPU_SHRINK_FILE names shrinks to NPU_SHRINK_TO bytes as
 * soon as it is mapped, so that what reads it meets pages that are not there. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef void *mmap_fn(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);

static void *map_and_shrink(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    const char *name = getenv("NPU_SHRINK_FILE"), *to = getenv("NPU_SHRINK_TO");
    struct stat mapped, wanted;
    mmap_fn *next;
    void *symbol = dlsym(RTLD_NEXT, "mmap");
    memcpy(&next, &symbol, sizeof next);
    void *data = next(at, bytes, protection, flags, fd, offset);
    if (data == MAP_FAILED || fd < 0 || !name || !to) return data;
    if (fstat(fd, &mapped) == 0 && stat(name, &wanted) == 0 && mapped.st_ino == wanted.st_ino &&
        mapped.st_dev == wanted.st_dev && truncate(name, strtol(to, NULL, 10)) != 0)
        abort();
    return data;
}

#undef mmap
#undef mmap64
EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return map_and_shrink(at, bytes, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return map_and_shrink(at, bytes, protection, flags, fd, offset);
}
