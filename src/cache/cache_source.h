/* What a model's files hold, as a hash, and whether that is known without reading them.
 *
 * A hash is remembered with the device, inode, size and both times of each file. That says that the content is the same
 * where the system itself changes the time of status change at every write: on the file systems that
 * cache_source.c lists, until the next boot, for files that nobody had open for writing and whose times had settled
 * when they were opened. Where one of these is not so, the hash is made from the mappings each time. docs/cache.md has
 * the reasons.
 */
#ifndef NPU_CACHE_SOURCE_H
#define NPU_CACHE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "cache/cache_hash.h"

typedef struct npu_cache_source {
    npu_cache_file *files;
    int *fds; /* of |files|, while it is to be seen whether they change; -1 = none */
    uint32_t n_files;
    bool is_steady;     /* a change would show in the files' times */
    bool is_known;      /* |content| is the hash */
    bool is_remembered; /* and was there without reading */
    npu_hash128 content;
    npu_hash128 identity, boot; /* of the files' identities; of the system's start */
    char known[48];             /* where the hash is remembered; the same when a file changes in place */
    const char *dir, *model;
} npu_cache_source;

/* Takes copies of |files| but not of their paths, |dir| and |model|, the name by which people know the model. Under
 * another name its content is remembered anew. NO_MEMORY. */
npu_status npu_cache_source_open(npu_cache_source *out, const char *dir, const char *model, const npu_cache_file *files,
                                 uint32_t n, npu_error *err);
void npu_cache_source_close(npu_cache_source *s);

/* Makes the hash, if it is not known. NO_MEMORY. */
npu_status npu_cache_source_read(npu_cache_source *s, npu_pool *pool, npu_error *err);

/* Before packed weights are kept under the hash: sees that the files are what they were when the source was opened, and
 * makes the hash, which files that are cut meanwhile do not make fatal. REFUSED: they changed; NO_MEMORY, CANCELLED. */
npu_status npu_cache_source_confirm(npu_cache_source *s, npu_pool *pool, const npu_cache_stop *stop, npu_error *err);

/* After npu_cache_source_confirm: remembers the hash for later processes, where it may be. IO. */
npu_status npu_cache_source_remember(const npu_cache_source *s, npu_error *err);

/* What |file| of the folder remembers: the name of a model and its content. False: it is none of these files. */
bool npu_cache_source_describe(const char *dir, const char *file, char model[NPU_CACHE_MODEL_NAME],
                               npu_hash128 *content);

/* Whether a status change at |ctime_ns| is so long before |now_ns| that a later one has another time. */
bool npu_cache_has_settled(int64_t ctime_ns, int64_t now_ns);

#endif
