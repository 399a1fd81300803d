/* GGUF reader: metadata and tensor table of a model file (versions 2 and 3, little endian, split files too).
 *
 * The file is mapped and stays so until close; nothing is copied but names. Everything a file states is checked before
 * it is used, so what these functions return can be trusted to lie inside the mapping: an error names the key or tensor
 * and has a "gguf.*" code. What a key or tensor *means* is for model/ and tokenizer/ to check. After opening, an
 * npu_gguf is never written: any thread may read it. Callers: model/, tokenizer/, plan/, cli/.
 */
#ifndef NPU_GGUF_GGUF_H
#define NPU_GGUF_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"
#include "wire/format.h"

typedef struct npu_gguf npu_gguf;

typedef enum npu_gguf_type {
    NPU_GGUF_U8,
    NPU_GGUF_I8,
    NPU_GGUF_U16,
    NPU_GGUF_I16,
    NPU_GGUF_U32,
    NPU_GGUF_I32,
    NPU_GGUF_F32,
    NPU_GGUF_BOOL,
    NPU_GGUF_STRING,
    NPU_GGUF_ARRAY,
    NPU_GGUF_U64,
    NPU_GGUF_I64,
    NPU_GGUF_F64,
    NPU_GGUF_TYPE_COUNT
} npu_gguf_type;

/* "u32", "string"…; "unknown" for a number that is no type. */
const char *npu_gguf_type_name(uint32_t type);

/* Bytes in the mapping, not zero-terminated, any content. */
typedef struct npu_gguf_str {
    const char *data;
    size_t size;
} npu_gguf_str;

typedef struct npu_gguf_value {
    npu_gguf_str key;
    npu_gguf_type type;
    npu_gguf_type elem_type; /* of an array; else equal to type */
    uint64_t count;          /* elements of an array; else 1 */
    const uint8_t *data;     /* unaligned: the number, the string's bytes, or the array's first element */
    uint64_t bytes;          /* at data: the number's, the string's, or the whole array's */
} npu_gguf_value;

enum { NPU_GGUF_NAME_MAX = 64 };

typedef struct npu_gguf_tensor {
    char name[NPU_GGUF_NAME_MAX + 1];
    npu_type type; /* always one of the table in wire/format.h */
    uint32_t n_dims;
    uint64_t ne[4];      /* dimension 0 is the fastest; each at least 1 */
    uint64_t nb[4];      /* bytes: nb[0] of a block, nb[1] of a row, … */
    const uint8_t *data; /* aligned to the file's general.alignment */
    uint64_t bytes;
    uint32_t file;        /* index for npu_gguf_file_at */
    uint64_t file_offset; /* of data, in that file */
} npu_gguf_tensor;

typedef struct npu_gguf_file {
    const char *path; /* as given, or made from it for further parts of a split file */
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
    uint64_t device, inode;
} npu_gguf_file;

/* Opens a file, or all parts of a split file when |path| is the first ("…-00001-of-0000N.gguf"). The logger may be
 * NULL. NOT_FOUND, IO: the file can't be read; INVALID: it is not a sound GGUF file; UNSUPPORTED: sound, but a version,
 * byte order or tensor type that npu does not read. NO_MEMORY. On success the caller owns *out; on failure it is NULL.
 */
npu_status npu_gguf_open(const char *path, const npu_logger *logger, npu_gguf **out, npu_error *err);

/* The same for one file that is in memory already; |data| must outlive the reader. |name| is used in messages. */
npu_status npu_gguf_open_memory(const void *data, size_t size, const char *name, const npu_logger *logger,
                                npu_gguf **out, npu_error *err);

/* Unmaps and frees; NULL is fine. All values, strings and tensors become invalid. */
void npu_gguf_close(npu_gguf *g);

uint32_t npu_gguf_version(const npu_gguf *g);

/* Files the model consists of: 1, or the parts of a split. For identity and hashing. */
size_t npu_gguf_file_count(const npu_gguf *g);
const npu_gguf_file *npu_gguf_file_at(const npu_gguf *g, size_t index);

/* Keys in file order (of the first part), and lookup by name; NULL if there is none. */
size_t npu_gguf_key_count(const npu_gguf *g);
const npu_gguf_value *npu_gguf_key_at(const npu_gguf *g, size_t index);
const npu_gguf_value *npu_gguf_find(const npu_gguf *g, const char *key);

/* Typed reading. Integers may be stored in any integer type as long as the value fits; floats as f32 or f64; a bool
 * only as bool. NOT_FOUND ("gguf.key_missing"): no such key; INVALID ("gguf.key_type", "gguf.key_range"): there, but
 * not that. The text always names the key. *out is written only on OK. */
npu_status npu_gguf_get_u32(const npu_gguf *g, const char *key, uint32_t *out, npu_error *err);
npu_status npu_gguf_get_i32(const npu_gguf *g, const char *key, int32_t *out, npu_error *err);
npu_status npu_gguf_get_u64(const npu_gguf *g, const char *key, uint64_t *out, npu_error *err);
npu_status npu_gguf_get_f32(const npu_gguf *g, const char *key, float *out, npu_error *err);
npu_status npu_gguf_get_bool(const npu_gguf *g, const char *key, bool *out, npu_error *err);
npu_status npu_gguf_get_str(const npu_gguf *g, const char *key, npu_gguf_str *out, npu_error *err);

/* Per-layer values: a scalar holds for every index, an array has one element an index ("gguf.key_count" when it is too
 * short). Array elements must be of 32 bits or more, bools, or f32/f64: what writers of the format produce. */
npu_status npu_gguf_get_u32_at(const npu_gguf *g, const char *key, uint64_t index, uint32_t *out, npu_error *err);
npu_status npu_gguf_get_f32_at(const npu_gguf *g, const char *key, uint64_t index, float *out, npu_error *err);
npu_status npu_gguf_get_bool_at(const npu_gguf *g, const char *key, uint64_t index, bool *out, npu_error *err);

/* An array of a given element type; INVALID ("gguf.key_type") if it is anything else. Elements of numeric arrays are at
 * value->data + index * size, unaligned, little endian. */
npu_status npu_gguf_get_array(const npu_gguf *g, const char *key, npu_gguf_type elem_type, const npu_gguf_value **out,
                              npu_error *err);

/* One number or bool of a value (index 0 of a scalar) for printing; false if it is no integer, resp. float, or index is
 * past the end. Integers above INT64_MAX come as *big with *out = INT64_MAX. */
bool npu_gguf_value_int(const npu_gguf_value *value, uint64_t index, int64_t *out, uint64_t *big);
bool npu_gguf_value_float(const npu_gguf_value *value, uint64_t index, double *out);

/* Random access to a string array: one pass over it builds a table of offsets, which the caller owns and closes. It
 * refers to the mapping: close it before the reader. */
typedef struct npu_gguf_strings {
    uint64_t count;
    const uint8_t *data;
    uint32_t *offsets; /* of each string's length field, from data */
} npu_gguf_strings;

/* NOT_FOUND, INVALID (no array of strings, or above 4 GiB), NO_MEMORY; on failure |out| is {0}. */
npu_status npu_gguf_strings_open(const npu_gguf *g, const char *key, npu_gguf_strings *out, npu_error *err);
void npu_gguf_strings_close(npu_gguf_strings *strings);

/* The string at |index|, which must be below count. */
npu_gguf_str npu_gguf_strings_at(const npu_gguf_strings *strings, uint64_t index);

/* Tensors in file order, over all parts, and lookup by name; NULL if there is none. */
size_t npu_gguf_tensor_count(const npu_gguf *g);
const npu_gguf_tensor *npu_gguf_tensor_at(const npu_gguf *g, size_t index);
const npu_gguf_tensor *npu_gguf_tensor_find(const npu_gguf *g, const char *name);

#endif
