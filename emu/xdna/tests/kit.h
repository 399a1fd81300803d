// What the tests of the emulated XDNA device share: the library by dlsym, and an open device with a heap, a context and
// one small kernel. Only the kernel interface is used, and the emulator's settings.
#ifndef EMU_XDNA_KIT_H
#define EMU_XDNA_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "amdxdna_ioctl.h"
#include "npu_emu_xdna.h"
#include "wire/xdna_layout.h"

struct kit_bo {
    uint32_t handle;
    uint8_t *data;
    uint64_t bytes, address;
};

struct kit {
    int fd;
    struct kit_bo heap;
    uint32_t rows, columns;
    uint64_t dev_used;
};

// A context with one kernel, its operands and a command buffer for each place in the queue.
struct kit_run {
    struct kit *kit;
    uint32_t context, syncobj;
    struct kit_bo pdi, insts, a, b, c, cmd[4];
    npu_xdna_layout layout;
};

extern const struct npu_emu_xdna_calls *sys;
extern char kit_library[512];
void kit_set(const char *key, const char *value);
unsigned long long kit_get(const char *name);
const char *kit_refusal(const char *key, const char *value); // why it is refused
const char *kit_help(void);
unsigned kit_unmet(char *text, unsigned bytes); // fault rules, and how many
void kit_defaults(void);                        // every setting as if never set

int kit_ioctl(struct kit *k, unsigned long request, void *arg); // 0 or errno
void kit_open(struct kit *k);
void kit_close(struct kit *k);
struct kit_bo kit_buffer(struct kit *k, uint32_t type, uint64_t bytes);
int kit_try_buffer(struct kit *k, uint32_t type, uint64_t bytes, struct kit_bo *out);
void kit_free(struct kit *k, struct kit_bo *bo);
void kit_flush(struct kit *k, const struct kit_bo *bo);
int kit_sync(struct kit *k, const struct kit_bo *bo, uint32_t direction, uint64_t offset, uint64_t bytes);
int kit_context(struct kit *k, uint32_t columns, uint32_t *handle, uint32_t *syncobj);

// A kernel for |l|; A and B filled by a seed and synced, C zero and synced.
void kit_run_open(struct kit *k, const npu_xdna_layout *l, const char *more, struct kit_run *r);
void kit_run_close(struct kit_run *r);
void kit_fill(struct kit_run *r, unsigned seed); // A and B, synced
int kit_submit(struct kit_run *r, unsigned slot, uint64_t *seq);
int kit_wait(struct kit_run *r, uint64_t point, int ms); // ms after now; 0 polls
uint32_t kit_state(const struct kit_run *r, unsigned slot);
// Submits, waits, syncs C; the state.
uint32_t kit_go(struct kit_run *r);
// How many values of C are not A * B, computed from rows and columns by the layout's definition.
unsigned kit_wrong(const struct kit_run *r, uint32_t first_row, uint32_t rows);

extern const npu_xdna_layout kit_small; // 16 x 64 x 32

#endif
