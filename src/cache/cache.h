/* The weight cache: packed weights in files, so that a later process reads them instead of packing them again.
 *
 * An image holds what one target layout made of one model. It is named by a hash of all that the model's files hold and
 * by the layout: a changed model or a changed layout has another name. Images are written when a context closes, when
 * the weights that it packed are still there; nothing is written before. Nothing here fails a run: what can't be read
 * is packed, what can't be written is told to the logger. Processes may use a folder at the same time: an image appears
 * whole, under its name, or not at all. Knows of targets only the names of their layouts. docs/cache.md has the format
 * and the figures.
 */
#ifndef NPU_CACHE_CACHE_H
#define NPU_CACHE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "target/weights.h"

#define NPU_CACHE_DEFAULT_LIMIT ((uint64_t)8 << 30)

enum { NPU_CACHE_MODEL_NAME = 96 }; /* bytes of a model's name, which is cut to them */

typedef struct npu_cache npu_cache;

/* A file of the model as it was mapped; |data| is NULL when no weights are in it. */
typedef struct npu_cache_file {
    const char *path;
    const uint8_t *data;
    uint64_t bytes, device, inode;
    int64_t mtime_ns, ctime_ns;
} npu_cache_file;

typedef struct npu_cache_params {
    npu_logger logger;
    const char *dir;             /* images are in its folder "weights", which is made when one is written */
    uint64_t limit_bytes;        /* of all images together, when the cache is saved */
    uint64_t least_bytes;        /* an image smaller than this is not worth a file */
    unsigned threads;            /* for hashing and writing, 0 = one per core */
    const npu_cache_file *files; /* their paths, mappings and what |dir| points to must outlive the cache */
    uint32_t n_files;
    bool (*cancelled)(void *user); /* asked by npu_cache_save, from its thread; true ends it soon. NULL = never */
    void *cancelled_user;
} npu_cache_params;

/* NO_MEMORY. Opens the model's files and reads what |dir| remembers of them; writes nothing. */
npu_status npu_cache_open(const npu_cache_params *params, npu_cache **out, npu_error *err);

/* What targets use; as long as the cache is open. */
const npu_weight_cache *npu_cache_seam(npu_cache *cache);

/* Writes what was packed since the cache was opened, when there is something to gain. To be called while what targets
 * took and kept is still there. What is not any more as it was packed, or read, is not written. When it is cancelled,
 * it leaves no part of a file. Removes what processes that were ended left, and images, even one that was read, until
 * the rest is within the limit; nothing is taken from an image afterwards. */
void npu_cache_save(npu_cache *cache);

void npu_cache_close(npu_cache *cache); /* NULL is fine */

/* Packed weights so far: bytes read from images, and bytes that had to be packed. */
void npu_cache_count(const npu_cache *cache, uint64_t *read_bytes, uint64_t *packed_bytes);

/* The name that people know a model by: of its first file, without its folder, printable. */
void npu_cache_model_name(const char *path, char out[NPU_CACHE_MODEL_NAME]);

/* An image in a folder, or a part of one, for people. */
typedef struct npu_cache_item {
    char file[80], model[NPU_CACHE_MODEL_NAME], layout[64];
    uint64_t bytes;
    int64_t used_s;    /* seconds since 1970 */
    char problem[128]; /* why no process will use it; "" = none */
} npu_cache_item;

/* The images and parts in |dir|/weights, latest use first. A folder that is not there has none. The caller frees
 * |*out|. IO, NO_MEMORY. */
npu_status npu_cache_list(const char *dir, npu_cache_item **out, size_t *n, npu_error *err);

/* What could not be removed, and why. */
typedef struct npu_cache_left {
    char file[80];
    int why; /* an errno */
} npu_cache_left;

typedef struct npu_cache_cleaned {
    size_t removed, in_use; /* images and parts */
    uint64_t bytes;         /* of those removed */
    npu_cache_left *left;   /* the caller frees it, also after failure; NULL: none */
    size_t n_left;
} npu_cache_cleaned;

/* Removes the images of the model whose file has, or had, the name |model| (a path will do), and what is remembered of
 * it; everything for NULL; but not what is in use. Goes on where something can't be removed. NOT_FOUND: there is no
 * image of that name; IO: the folder can't be read; NO_MEMORY. */
npu_status npu_cache_clean(const char *dir, const char *model, npu_cache_cleaned *out, npu_error *err);

#endif
