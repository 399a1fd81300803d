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

/* The content that the name of an image begins with. False: it is no such name. */
bool npu_cache_dir_content(const char *file, npu_hash128 *out);

/* Whether there is an image of that layout, of any model. */
bool npu_cache_dir_has_layout(const char *dir, const char *layout);

/* The name of the small file that remembers what has that hash. */
void npu_cache_dir_known(npu_hash128 name, char out[48]);

/* Fills |out| from the small file called |file|, when it is there, has that size and is this user's alone. */
bool npu_cache_dir_load(const char *dir, const char *file, void *out, size_t size);
npu_status npu_cache_dir_store(const char *dir, const char *file, const void *data, size_t size, npu_error *err);

/* Says that it is used: what was used longest ago goes first. */
void npu_cache_dir_touch(const char *dir, const char *file);

/* A file that appears as |path| when it is whole: begin, write to |fd|, end with what came of it, which closes and on
 * failure removes it. |part| belongs to the file until then, which is locked: who can lock one knows that its writer is
 * gone. IO. */
npu_status npu_cache_dir_begin(const char *dir, char **part, int *fd, npu_error *err);
npu_status npu_cache_dir_end(char *part, int fd, const char *path, npu_status status, npu_error *err);

/* Removes images not in use, longest not used first, until |bytes| more fit within |limit|; |path| is the one that they
 * replace, NULL: none. RANGE: they can't. */
npu_status npu_cache_dir_make_room(const char *dir, const char *path, uint64_t bytes, uint64_t limit, npu_error *err);

typedef enum npu_cache_kind {
    NPU_CACHE_IMAGE,
    NPU_CACHE_PART,  /* of an image that is being written, or whose writer was ended */
    NPU_CACHE_KNOWN, /* what is remembered of a model's file */
} npu_cache_kind;

/* A name in the folder that is like one of this cache's, whatever has it. */
typedef struct npu_cache_name {
    char file[80];
    npu_cache_kind kind;
    uint64_t bytes; /* 0 when it is not a plain file */
    int64_t used_ns;
} npu_cache_name;

/* Ascending by use. A folder that is not there has none. */
npu_status npu_cache_dir_list(const char *dir, npu_cache_name **out, size_t *n, npu_error *err);

/* Whether there is a folder in a file's place. */
bool npu_cache_dir_is_folder(const char *path);

/* Whether a process reads the image, or writes the part. */
bool npu_cache_dir_in_use(const char *dir, const char *file);

/* 0: removed, or gone already; EBUSY: in use; else what the system says. An empty folder is removed too. */
int npu_cache_dir_remove(const char *dir, const char *file);

/* Removes what processes that were ended left, and what was remembered long ago. */
void npu_cache_dir_sweep(const char *dir);

#endif
