// State of the emulated host library: settings, shared buffers, sessions with their NPU process, handles. One struct
// for the whole process, because the interface is global by nature; every field is guarded by emu.lock unless said
// otherwise.
#ifndef EMU_CDSPRPC_HOST_H
#define EMU_CDSPRPC_HOST_H

#include "AEEStdErr.h"
#include "remote.h"
#include "faults.h"
#include "../common/proto.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EMU_API __attribute__((visibility("default")))

#define EMU_DOMAINS     5
#define EMU_SESSIONS    4
#define EMU_DOMAIN_STEP 8
#define EMU_NOTIFIERS   16
#define EMU_CHANNELS    32

// What a DSP-side failure looks like to the host.
#define EMU_DSP_EXCEPTION      ((int)0x8000040Du)
#define EMU_DSP_NO_SKEL        ((int)0x80000406u)
#define EMU_DSP_PROCESS_FAILED ((int)0x8000054Fu)

#define EMU_QEMU_ARCH 73 // the newest that qemu-hexagon runs

enum emu_driver { EMU_DRIVER_SIM, EMU_DRIVER_QEMU };

struct emu_settings {
    enum emu_driver driver;
    char program[EMU_PATH_BYTES];
    char loader[EMU_PATH_BYTES];
    char qemu[EMU_PATH_BYTES];
    uint32_t arch;
    uint32_t hvx_contexts; // 0: as the architecture has (emu_hvx_contexts)
    uint32_t hw_threads;
    uint32_t vtcm_bytes; // 0: likewise
    uint32_t slots;
    uint32_t sessions;
    uint32_t cdsps;
    uint32_t pcycles_mhz;
    uint32_t farf_mask;
    uint32_t hmx_v2;
    uint32_t import_needs_callback;
    uint32_t window_by_free;
    uint32_t signed_only;
    uint32_t get_uri;
    uint32_t idle;
    uint32_t quiet;
    uint32_t watchdog_ms; // 0: none
    struct emu_strictness strict;
    uint64_t window_bytes;
    uint64_t max_buffer_bytes; // of a shared buffer that rpcmem gives
    uint64_t seed;
    char faults[EMU_FAULT_BYTES];
};

// A shared buffer: from rpcmem_alloc, or foreign memory registered by its owner.
struct emu_buffer {
    uint8_t *memory;
    size_t bytes;
    int fd;
    bool owned;
    struct emu_buffer *next;
};

// One (effective domain, fd) mapping. |implicit| ones were made for an invocation and live as long as their buffer.
struct emu_mapping {
    int fd;
    size_t bytes;
    uint8_t *memory;
    uint32_t flags;
    uint32_t references;
    bool implicit;
    struct emu_mapping *next;
};

// BUSY: a thread is starting or ending the process with emu.lock released; others wait for emu.changed.
enum emu_session_state { EMU_SESSION_CLOSED, EMU_SESSION_BUSY, EMU_SESSION_LIVE, EMU_SESSION_DEAD };

struct emu_session {
    int effective_domain;
    enum emu_session_state state;
    bool reserved;
    bool unsigned_set;
    int unsigned_module;
    int thread_priority;
    uint32_t users; // handles and queues that keep the process
    pid_t pid;
    int control;
    pthread_mutex_t control_lock;
    pthread_t monitor;
    enum emu_driver driver;
    char program[EMU_PATH_BYTES]; // what the process runs (qemu)
    struct emu_block *block;
    int block_fd;
    remote_rpc_status_flags_t end; // once dead
    // What strict mode found in the last process that ended by it.
    char violation_kind[EMU_KIND_BYTES];
    char violation[EMU_VIOLATION_BYTES];
    uint32_t generation;        // counts processes
    int channels[EMU_CHANNELS]; // idle invoke channels
    uint32_t channel_count;
    struct emu_mapping *mappings;
    struct dspqueue *queues;
    uint32_t queue_count;
};

struct emu_handle {
    remote_handle64 id;
    struct emu_session *session;
    uint32_t generation; // of the session's process when opened
    uint32_t module;
    uint64_t remote;
    struct emu_handle *next;
};

struct emu_host {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ready;
    struct emu_settings settings;
    struct emu_faults faults;
    struct emu_buffer *buffers;
    struct emu_session sessions[EMU_DOMAINS][EMU_SESSIONS];
    struct emu_handle *handles;
    uint64_t next_handle;
    uint64_t next_queue;
    struct emu_clocks *clocks; // strict mode; NULL before the first such session
    int clocks_fd;
    struct {
        fastrpc_notif_fn_t call;
        void *context;
        int domain;
    } notifiers[EMU_NOTIFIERS];
    uint32_t notifier_count;
    uint64_t kills; // requests to end a process: what a call that hangs waits for
};

extern struct emu_host emu;

// Takes emu.lock, filling in defaults on first use.
void emu_lock(void);
void emu_unlock(void);

// Says on stderr, unless the setting "quiet" is 1, and to who asks (npu_emu_refusal) why a program can't start.
void emu_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A fault on request for the public call |name|: true and *code when the call must return at once. One that hangs
// goes on when a process is ended, as a driver lets go whom it held up for it. Not under emu.lock.
bool emu_meet(const char *name, int *code);

// --- settings (config.c) ---
void emu_settings_default(struct emu_settings *settings);
uint32_t emu_hvx_contexts(const struct emu_settings *settings);
uint32_t emu_vtcm_bytes(const struct emu_settings *settings);
extern const struct emu_fault_names emu_fault_calls; // that a fault rule may name (fault_calls.c)

// --- strict mode (strict.c) ---
bool emu_strict(void); // any part of it
// Gives a new process the clocks. 0 or a code.
int emu_strict_start(struct emu_session *session);
// An answer of the session came: what it knows the host knows too.
void emu_strict_answered(const struct emu_session *session);
// Bytes that a buffer's file has behind the buffer, and their contents.
size_t emu_strict_tail_bytes(size_t bytes);
int emu_strict_tail_write(int fd, size_t bytes);

// --- buffers (rpcmem.c); under emu.lock ---
struct emu_buffer *emu_buffer_by_fd(int fd);
// The buffer that holds all of [memory, memory+bytes); *overlap is set when it only holds a part.
struct emu_buffer *emu_buffer_around(const void *memory, size_t bytes, bool *overlap);

// --- sessions (session.c) ---
// The session of an effective domain id; NULL for an id there is none of.
struct emu_session *emu_session_of(int effective_domain);
int emu_default_domain(int domain);
// Counts one more user, starting the process when there is none. |program| for qemu, may be NULL otherwise. Takes
// emu.lock itself.
int emu_session_use(struct emu_session *session, const char *program);
// Counts one more user of a process that lives; AEE_ECONNRESET when it has died, AEE_ENOTINITIALIZED when none was
// started.
int emu_session_hold(struct emu_session *session);
// The last user's leaving ends the process.
void emu_session_leave(struct emu_session *session);
// Ends the process from outside; waits until its end is known.
void emu_session_kill(struct emu_session *session, enum emu_exit_kind kind);
// One exchange on the control socket; not under emu.lock. Returns the answer's result or AEE_ECONNRESET.
int emu_session_ask(struct emu_session *session, struct emu_control *message, int fd);
// The same where nothing hangs on the answer: a process that is stopped and takes nothing is ended after 20 seconds, so
// that it does not hold up those who live.
void emu_session_tell(struct emu_session *session, struct emu_control *message);
// Code of an invocation that was running when the process ended: waits until its end is known.
int emu_session_end_code(struct emu_session *session);
// Starts the process and its monitor (spawn.c); the session is BUSY. 0 or a code.
int emu_session_spawn(struct emu_session *session);
void emu_faults_publish(struct emu_session *session);
// Adds the rules that were met in the process to emu.faults.met. Under emu.lock.
void emu_faults_gather(const struct emu_session *session);

// --- names (uri.c) ---
struct emu_uri {
    int effective_domain;
    char library[EMU_NAME_BYTES];
    char symbol[EMU_NAME_BYTES];
};
// Reads file:///LIBRARY?SYMBOL&…&_dom=NAME[&_session=N]. 0 or a code.
int emu_uri_read(const char *text, struct emu_uri *uri);
const char *emu_domain_name(int domain);
int emu_domain_by_name(const char *name, size_t bytes);
// The file that |library| means to |driver|, looked for along the search path; -1 when there is none.
int emu_program_find(const char *library, enum emu_driver driver, const char *domain, char *path, size_t bytes);

// --- invocations (invoke.c) ---
int emu_invoke(struct emu_session *session, uint32_t module, uint64_t remote, uint32_t scalars, remote_arg *args);

// --- mappings (mapping.c) ---
struct emu_mapping *emu_mapping_find(struct emu_session *session, int fd);
// Makes sure that the buffer of |fd| is known to the process, for an invocation. Under no lock.
int emu_mapping_implicit(struct emu_session *session, int fd);
// Drops all host-side records, when the process has ended. Under emu.lock.
void emu_mappings_clear(struct emu_session *session);
void emu_buffer_forgotten(int fd);

// --- queues (queue.c) ---
// The process of |session| has ended: wake and fail everybody. Under emu.lock; returns with error callbacks started.
void emu_queues_break(struct emu_session *session);
// Calls the error callbacks of broken queues once (queue.c); under no lock, on a thread of its own.
void emu_queues_report(struct emu_session *session, uint32_t generation, int error);

#endif
