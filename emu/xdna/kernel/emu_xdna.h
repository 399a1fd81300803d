// Inside libnpu-emu-xdna.so, which plays the kernel driver: open files, buffers, contexts, commands. The device itself
// (firmware and array) is another process, one an open file. One lock over everything; only waits give it up.
#ifndef EMU_XDNA_H
#define EMU_XDNA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "amdxdna_ioctl.h"
#include "faults.h"
#include "proto.h"

#define EMU_API       __attribute__((visibility("default")))
#define EMU_PAGE      4096u
#define EMU_LINE      64u
#define EMU_FILES     16
#define EMU_CONTEXTS  64
#define EMU_QUEUE     4 // unfinished commands in a context
#define EMU_MAX_ARGS  4095
#define EMU_BY_KERNEL UINT32_MAX
#define EMU_MAP_BASE  0x100000000ull // map offsets are this and the place in memory
#define EMU_IOVA_BASE 0x8000000000ull

// How one version of the driver differs from the others: data, read where it matters.
struct emu_profile {
    const char *name;
    int32_t major, minor;
    uint32_t watchdog_ms;
    int from_device_errno;   // what a sync FROM_DEVICE answers, after it did its work
    bool sync_whole;         // a sync moves the whole buffer, whatever range is asked for
    bool sync_strict;        // a range beyond the buffer is EINVAL, not cut
    int wait_cmd_errno;      // 0: WAIT_CMD works
    int second_heap_errno;   // on a device without heap chunks
    bool heap_any_size;      // else a multiple of 64 MiB
    int unmapped_heap_errno; // DEV buffer or context before the heap is mapped
    bool args_needed;        // a command without a list of buffers is EINVAL
    int cmd_arg_errno;       // a CMD buffer in that list; 0: fine
    bool map_once;           // a second mmap is EEXIST
    bool address_hidden;     // xdna_addr of a mapped SHARE buffer stays invalid: it is the mapped address
    bool needs_cu;           // a command in a context without CONFIG_CU is EINVAL
    bool spoils;             // a failed command's payload becomes 0xFF
    bool timeout_stays_new;  // a command that the watchdog ended keeps state NEW
    uint32_t contexts;       // on xdna2; 0: as many as the firmware has
    uint32_t qos_bytes;      // how much of the program's memory a context's creation reads
};

struct emu_generation {
    const char *name, *text;
    uint32_t number, columns, contexts;
};

struct emu_settings {
    const struct emu_profile *profile;
    const struct emu_generation *generation;
    struct amdxdna_firmware firmware;
    uint32_t contexts;    // 0: the generation's
    uint32_t watchdog_ms; // 0: never; EMU_BY_KERNEL: the profile's
    uint32_t node;        // N of /dev/accel/accelN; those below belong to another driver
    bool iova, strict_direction, evict, lock, shuffle;
    uint64_t memory, seed;
    char device[512]; // path of the device process; empty: beside this library
};

struct emu_bo {
    struct emu_bo *next; // by |offset|
    uint32_t handle, type;
    uint64_t size, offset, bytes; // as asked for; place in both memories, whole pages
    uint64_t address;             // device address of DEV_HEAP and DEV
    uint8_t *user;                // where the program mapped it
    unsigned running;             // commands that use it
    bool closed;                  // freed when no command uses it any more
};

struct emu_job {
    uint64_t sequence;
    struct emu_bo *cmd, **args;
    uint32_t n_args;
};

struct emu_context {
    uint32_t handle; // 0: free
    uint32_t columns, n_cus;
    struct amdxdna_cu cus[32];
    uint64_t hidden[4]; // pages that a context takes from the heap for itself
    uint64_t submitted, completed;
    uint64_t head_since_ns; // when the oldest unfinished command became the oldest
    bool dead;
    struct emu_job jobs[EMU_QUEUE]; // by sequence % EMU_QUEUE
};

enum emu_counter { EMU_COMMANDS, EMU_SYNCS, EMU_LINES_TO_DEVICE, EMU_LINES_TO_HOST, EMU_DIRTY, EMU_COUNTERS };

struct emu_file {
    int fd;       // given to the program; -1: free
    bool foreign; // of another driver
    bool lost;    // the device process is gone
    bool closing;
    struct emu_settings settings;
    int host_fd, device_fd; // memory files: what the CPU sees, what the device sees
    uint8_t *host, *device;
    uint64_t *lines; // what the CPU last got or gave, one hash a line; 0: never synced
    struct emu_bo *bos;
    uint64_t used;
    uint32_t next_handle, next_context, n_contexts;
    struct emu_context contexts[EMU_CONTEXTS];
    int socket, child_socket, wake; // wake: an eventfd, written when the watchdog has something new to watch
    pid_t pid;
    pthread_t monitor;
    int start_error;
    bool started;
};

struct emu_xdna {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ready;
    struct emu_settings settings;
    struct emu_faults faults;
    char rules[2048]; // their text
    struct emu_file files[EMU_FILES];
    unsigned long long counters[EMU_COUNTERS];
    pid_t last_pid;
};

extern struct emu_xdna emu;

void emu_lock(void);
void emu_unlock(void);
// Waits for a change, to |deadline_ns| of CLOCK_MONOTONIC at most; false when that has passed.
bool emu_wait(uint64_t deadline_ns);
uint64_t emu_now_ns(void);

// Meets the fault rules of |name|: true when the call is to return at once, with errno |*error| (0: success).
bool emu_fault(const char *name, int *error);

const struct emu_profile *emu_profile_named(const char *name);
const struct emu_generation *emu_generation_named(const char *name);

// All below: 0 or an errno; the caller holds the lock.
int emu_info_version(struct emu_file *f, struct amdxdna_drm_version *v);
int emu_info_get(struct emu_file *f, struct amdxdna_get_info *g);

int emu_memory_open(struct emu_file *f);
void emu_memory_close(struct emu_file *f);
int emu_bo_create(struct emu_file *f, struct amdxdna_create_bo *c);
int emu_bo_info(struct emu_file *f, struct amdxdna_get_bo_info *g);
int emu_bo_close(struct emu_file *f, const struct amdxdna_gem_close *c);
struct emu_bo *emu_bo_of(struct emu_file *f, uint32_t handle);
uint64_t emu_bo_address(const struct emu_file *f, const struct emu_bo *bo);
void emu_bo_put(struct emu_file *f, struct emu_bo *bo); // a command that used it has ended
int emu_heap_take(struct emu_file *f, uint64_t bytes, uint64_t *offset);
struct emu_bo *emu_heap_of(struct emu_file *f);
int emu_heap_check(struct emu_file *f);
int emu_sync(struct emu_file *f, const struct amdxdna_sync_bo *s);
// Lines in |range| that the CPU wrote and did not sync; with the setting evict they overwrite what the device wrote.
void emu_sync_after(struct emu_file *f, struct emu_xdna_range range);

int emu_hwctx_create(struct emu_file *f, struct amdxdna_create_hwctx *c);
int emu_hwctx_destroy(struct emu_file *f, const struct amdxdna_destroy_hwctx *d);
int emu_hwctx_config(struct emu_file *f, const struct amdxdna_config_hwctx *c);
struct emu_context *emu_hwctx_of(struct emu_file *f, uint32_t handle);

int emu_exec(struct emu_file *f, struct amdxdna_exec_cmd *e);
int emu_exec_wait(struct emu_file *f, const struct amdxdna_timeline_wait *w);
int emu_exec_wait_cmd(struct emu_file *f, const struct amdxdna_wait_cmd *w);
void emu_exec_done(struct emu_file *f, const struct emu_xdna_message *m);
// Ends all commands of |c|: the oldest with |first|, the others ABORT. State 0 leaves what is there.
void emu_exec_end(struct emu_file *f, struct emu_context *c, uint32_t first);
// What the watchdog has to do now; returns when it wants to be asked again, UINT64_MAX for never.
uint64_t emu_exec_watch(struct emu_file *f);

int emu_process_start(struct emu_file *f);
void emu_process_stop(struct emu_file *f); // gives up the lock meanwhile
int emu_process_send(struct emu_file *f, const struct emu_xdna_message *m, int fd);

#endif
