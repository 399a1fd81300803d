/* A file of packed weights: a head, a table of what is in it, and the packed bytes of each entry, 128-byte aligned, in
 * the table's order without gaps. Little endian. docs/cache.md describes it. Every field is checked when a file is
 * opened, the packed bytes when they are read.
 */
#ifndef NPU_CACHE_IMAGE_H
#define NPU_CACHE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/cache_hash.h"

enum {
    NPU_CACHE_VERSION = 1,
    NPU_CACHE_ALIGN = 128,
    NPU_CACHE_CHUNK = 256 << 10, /* bytes whose hash is one share of an entry's: what a core's cache holds */
    NPU_CACHE_MAX_ENTRIES = 1 << 20,
};

typedef struct npu_cache_head {
    char magic[8]; /* "npuwgts" and a 0 */
    uint32_t version, head_bytes;
    npu_hash128 content; /* of the model's files */
    char layout[64], model[96];
    uint64_t file_bytes, n_entries;
    uint64_t table_hash, head_hash; /* of the table; of all fields before this one */
} npu_cache_head;

/* Which weights an entry is of: a place in the model's files, read with a type and a shape. */
typedef struct npu_cache_key {
    uint32_t file, type;
    uint64_t source_at, source_bytes, row_bytes;
    uint32_t ne[4];
    uint64_t bytes; /* of the packed weights */
} npu_cache_key;

typedef struct npu_cache_entry {
    npu_cache_key key; /* ascending in the table */
    uint64_t at, hash;
} npu_cache_entry;

_Static_assert(sizeof(npu_cache_head) == 224 && sizeof(npu_cache_entry) == 72, "file layout");

typedef struct npu_cache_image {
    npu_cache_head head;
    npu_cache_entry *entries;
    int fd; /* locked as shared: in use; -1 = closed */
} npu_cache_image;

/* What of an image is to be written. */
typedef struct npu_cache_piece {
    npu_cache_key key;
    const uint8_t *data;
    uint64_t hash; /* of the bytes as they were packed: they may lie where a device can write */
} npu_cache_piece;

int npu_cache_key_compare(const npu_cache_key *a, const npu_cache_key *b);

/* Opens |path|, which must be a plain file of this user's that no other user can write. With |content| and |layout|,
 * which may be NULL, it must be of those. NOT_FOUND: no such file; IO: it can't be read; REFUSED: the text names the
 * file and what is wrong with it. After failure |*out| is closed. */
npu_status npu_cache_image_open(const char *path, const npu_hash128 *content, const char *layout, npu_cache_image *out,
                                npu_error *err);

/* The same for an open file, which is taken over; its owner is not asked for. */
npu_status npu_cache_image_open_fd(int fd, const char *path, const npu_hash128 *content, const char *layout,
                                   npu_cache_image *out, npu_error *err);

/* The entry of that key; NULL: none. */
const npu_cache_entry *npu_cache_image_find(const npu_cache_image *image, const npu_cache_key *key);

/* Fills |out| with all threads of |pool|. IO; REFUSED: other bytes than were written. |path| is for the text. */
npu_status npu_cache_image_read(const npu_cache_image *image, const char *path, const npu_cache_entry *entry,
                                npu_pool *pool, uint8_t *out, npu_error *err);

void npu_cache_image_close(npu_cache_image *image); /* closed is fine */

void npu_cache_image_sort(npu_cache_piece *pieces, uint32_t n);
int npu_cache_image_compare_piece(const void *key, const void *piece); /* for bsearch */

/* Size of an image of |n| pieces; UINT64_MAX: too large. */
uint64_t npu_cache_image_bytes(const npu_cache_piece *pieces, uint32_t n);

/* Writes an image to the empty file |fd|; content, layout and model are taken from |head|. Sorts |pieces|, whose keys
 * must differ. |stop| is asked at each chunk. IO: errno's text, e.g. no space left; REFUSED: bytes are not what their
 * hash says; CANCELLED. */
npu_status npu_cache_image_write(int fd, const npu_cache_head *head, npu_cache_piece *pieces, uint32_t n,
                                 npu_pool *pool, const npu_cache_stop *stop, npu_error *err);

#endif
