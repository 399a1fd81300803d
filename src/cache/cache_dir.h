/* The folder of the weight cache: names, whole files, what goes when room is needed. An image's time of modification is
 * the time of its last use; a lock on it says that it is in use.
 */
#ifndef NPU_CACHE_DIR_H
#define NPU_CACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/cache_hash.h"

/* The path of an image; the caller frees it. NULL: no memory. */
char *npu_cache_dir_image(const char *dir, npu_hash128 content, const char *layout);

/* Whether there is an image of that layout, of any model. */
bool npu_cache_dir_has_layout(const char *dir, const char *layout);

/* Fills |out| from the small file called |name|, when it is there, has that size and is this user's alone. */
bool npu_cache_dir_load(const char *dir, npu_hash128 name, void *out, size_t size);
npu_status npu_cache_dir_store(const char *dir, npu_hash128 name, const void *data, size_t size, npu_error *err);

/* A file that appears as |path| when it is whole: begin, write to |fd|, end with what came of it, which closes and on
 * failure removes it. |part| belongs to the file until then. IO. */
npu_status npu_cache_dir_begin(const char *dir, char **part, int *fd, npu_error *err);
npu_status npu_cache_dir_end(char *part, int fd, const char *path, npu_status status, npu_error *err);

/* Removes images not in use, longest not used first, until one of |bytes| fits within |limit| with the rest; |path| is
 * the one it replaces. RANGE: it can't. */
npu_status npu_cache_dir_make_room(const char *dir, const char *path, uint64_t bytes, uint64_t limit, npu_error *err);

/* A name in the folder that ends like an image's. */
typedef struct npu_cache_name {
    char file[80];
    uint64_t bytes;
    int64_t used_ns;
} npu_cache_name;

/* Ascending by use. A folder that is not there has none. */
npu_status npu_cache_dir_list(const char *dir, npu_cache_name **out, size_t *n, npu_error *err);

/* 0: removed, or gone already; EBUSY: in use; else what the system says. */
int npu_cache_dir_remove(const char *dir, const char *file);

/* What processes that were ended left, and with |all| what is remembered of models' files. */
void npu_cache_dir_sweep(const char *dir, bool all);

#endif
