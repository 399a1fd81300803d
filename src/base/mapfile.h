/* Read-only memory maps of regular files, and the name of the file behind a faulting address.
 *
 * Used by gguf/ for model files. A file that shrinks while mapped raises SIGBUS on access; the library installs no
 * signal handler (that is the program's business), but npu_map_name_at lets a program's handler say which file it was.
 */
#ifndef NPU_BASE_MAPFILE_H
#define NPU_BASE_MAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct npu_map {
    const uint8_t *data;        /* page aligned; NULL for an empty file */
    uint64_t size;              /* when it was opened */
    int64_t mtime_ns, ctime_ns; /* of its content, and of anything about it: no program sets the latter */
    uint64_t device, inode;
} npu_map;

/* Maps the regular file |path|. NOT_FOUND (no such file), IO (can't be read), INVALID (a directory, device, pipe or
 * socket), NO_MEMORY. On failure |out| is {0}. */
npu_status npu_map_open(const char *path, npu_map *out, npu_error *err);

/* Unmaps; harmless on {0}. Nothing may use the data any more. */
void npu_map_close(npu_map *map);

/* Gives the whole pages within |bytes| from |from|, memory of an open map, back to the system: they cost no resident
 * memory until they are read again, from the file as before. Any thread may read them meanwhile. */
void npu_map_drop(const void *from, uint64_t bytes);

/* Copies |bytes| from |from|, memory of an open map. False: the file does not have them any more, and reading them
 * directly would raise SIGBUS. Where the system can't say, they are read directly. Any thread. */
bool npu_map_copy(void *to, const void *from, uint64_t bytes);

/* Writes the path of the file mapped at |address| to |path| (cut to |size|, zero-terminated) and returns true; false if
 * no file is mapped there or the system does not say. Async-signal-safe: reads the system's own table of mappings with
 * plain system calls, so no registry has to be kept. For SIGBUS handlers: print "PATH: shrank while in use", _exit. */
bool npu_map_name_at(const void *address, char *path, size_t size);

#endif
