// What the host tests share: the library's functions by dlsym, a session with the probe, and checks that name their
// place. Only public FastRPC names and npu_emu_configure are used.
#ifndef EMU_TESTS_KIT_H
#define EMU_TESTS_KIT_H

#include "AEEStdErr.h"
#include "dspqueue.h"
#include "npu_emu.h"
#include "probe.h"
#include "remote.h"
#include "rpcmem.h"

#include <stdbool.h>

struct kit_library {
#define KIT_FUNCTION(name) __typeof__(&name) name;
#include "kit_functions.def"
};

extern struct kit_library lib;
extern bool kit_qemu;
extern char *kit_library_path, *kit_program_folder;
char kit_state(int pid); // as in /proc/PID/stat; 'Z' when it is gone

struct row {
    const char *name;
    void (*run)(void);
};

extern const struct row kit_rows_memory[], kit_rows_call[], kit_rows_queue[], kit_rows_death[], kit_rows_hang[],
    kit_rows_life[], kit_rows_dsp[], kit_rows_strict[];

// Ends the running row as failed.
_Noreturn void kit_fail(const char *file, int line, const char *text, long long got);
#define CHECK(condition)     ((condition) ? (void)0 : kit_fail(__FILE__, __LINE__, #condition, 0))
#define EQUAL(got, expected) kit_equal(__FILE__, __LINE__, #got, (long long)(got), (long long)(expected))
void kit_equal(const char *file, int line, const char *text, long long got, long long expected);

#define CDSP 3

// What must happen happens within this time, however busy the machine is.
#define KIT_PATIENCE_US 60000000u

// Opens the probe in session |session| of the compute DSP.
int kit_try_open(int session, remote_handle64 *handle);
remote_handle64 kit_open(int session);
void kit_close(remote_handle64 handle);
int kit_call(remote_handle64 handle, enum probe_method method, const struct probe_in *in, struct probe_out *out);
void kit_set(const char *key, const char *value);
// A buffer of |bytes|, mapped in |domain| with |flags|; its fd in *fd.
void *kit_buffer(int domain, size_t bytes, enum fastrpc_map_flags flags, int *fd);
void kit_buffer_free(int domain, void *memory);

struct kit_queue {
    remote_handle64 handle;
    dspqueue_t queue;
    uint64_t id;
};
// A session with a queue that the probe answers.
struct kit_queue kit_queue_open(uint32_t request, uint32_t response, bool by_callback);
void kit_queue_close(struct kit_queue *q);
int kit_send(struct kit_queue *q, uint32_t what, uint32_t second);
int kit_receive(struct kit_queue *q, uint32_t words[2], uint32_t timeout_us);

#endif
