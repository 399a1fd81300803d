/* Private to gguf/: the reader's state and what its files call of each other.
 *   gguf.c         open, split files, lookup        gguf_parse.c   header and metadata
 *   gguf_tensor.c  tensor table and its layout      gguf_get.c     typed access to values
 */
#ifndef NPU_GGUF_INTERNAL_H
#define NPU_GGUF_INTERNAL_H

#include "base/mapfile.h"
#include "gguf/gguf.h"

/* For "%.*s" of a slice from the file: names in messages are cut, a hostile one may be as long as the file. */
#define NPU__SLICE(s) (int)((s).size < 100 ? (s).size : 100), (s).data

typedef struct npu__gguf_part {
    npu_gguf_file info;
    npu_map map; /* {0} when the bytes belong to the caller */
    const uint8_t *data;
} npu__gguf_part;

typedef struct npu__gguf_values {
    npu_gguf_value *at;
    const npu_gguf_value **by_key; /* sorted */
    size_t count, room;
} npu__gguf_values;

struct npu_gguf {
    uint32_t version;
    npu__gguf_part *parts;
    size_t part_count, part_room;
    npu__gguf_values values; /* of the first part */
    npu_gguf_tensor *tensors;
    const npu_gguf_tensor **by_name; /* sorted */
    size_t tensor_count, tensor_room;
};

/* A place in one file. Reads go through npu__gguf_take, which never moves past the end. */
typedef struct npu__gguf_cursor {
    const npu__gguf_part *part;
    uint64_t at, size;
} npu__gguf_cursor;

/* The next |bytes| bytes, or NULL (and no move) if the file has fewer. */
const uint8_t *npu__gguf_take(npu__gguf_cursor *c, uint64_t bytes);
bool npu__gguf_take_u32(npu__gguf_cursor *c, uint32_t *out);
bool npu__gguf_take_u64(npu__gguf_cursor *c, uint64_t *out);

/* Little-endian numbers at any address. */
uint32_t npu__gguf_u32(const uint8_t *p);
uint64_t npu__gguf_u64(const uint8_t *p);

/* npu_fail with the file's name in front. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
npu_status
npu__gguf_fail(npu_error *err, const npu__gguf_part *part, npu_status status, const char *code, const char *format,
               ...);

/* Makes room for one more element in a growing array; tables grow by what was really read, never by a stated count. */
npu_status npu__gguf_grow(void **array, size_t count, size_t *room, size_t element, npu_error *err);

/* Bytes of a number type; 0 for strings, arrays and unknown types. */
uint32_t npu__gguf_type_bytes(uint32_t type);

typedef struct npu__gguf_header {
    uint32_t version;
    uint64_t tensor_count, value_count;
} npu__gguf_header;

npu_status npu__gguf_read_header(npu__gguf_cursor *c, npu__gguf_header *out, npu_error *err);

/* Reads |count| entries and sorts them by key. The caller frees |out| also after a failure. */
npu_status npu__gguf_read_values(npu__gguf_cursor *c, uint64_t count, npu__gguf_values *out, npu_error *err);
void npu__gguf_free_values(npu__gguf_values *values);

const npu_gguf_value *npu__gguf_lookup(const npu__gguf_values *values, const char *key);

/* Reads part |file|'s tensor table, which begins at the cursor, and appends it to g. */
npu_status npu__gguf_read_tensors(npu_gguf *g, npu__gguf_cursor *c, uint64_t count, uint32_t file, uint64_t alignment,
                                  npu_error *err);

/* Once all parts are read: sorts by name; refuses equal names and overlapping data. */
npu_status npu__gguf_index_tensors(npu_gguf *g, npu_error *err);

/* Typed access to a found value (or NULL: missing); see gguf.h. */
npu_status npu__gguf_value_u32(const npu_gguf_value *v, const char *key, uint32_t *out, npu_error *err);

#endif
