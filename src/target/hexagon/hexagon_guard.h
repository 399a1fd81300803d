/* Ends the NPU process when a call of the vendor's library does not come back.
 *
 * FastRPC calls that wait for the program have no time limit of their own. A thread looks at the clock while a session
 * is opened, closed or gives a buffer back; what takes too long ends the process (FASTRPC_REMOTE_PROCESS_KILL), and the
 * call fails as it does when a process dies by itself. Nothing of it runs while batches are sent and waited for.
 */
#ifndef NPU_HEXAGON_GUARD_H
#define NPU_HEXAGON_GUARD_H

#include "target/hexagon/hexagon_driver.h"

typedef struct npu_hex_guard npu_hex_guard;

/* Such calls have this long at least: a machine that emulates may be busy. Seconds. */
enum { NPU_HEX_CALL_LEAST_S = 20 };

/* A guard of |domain|, with its thread. NULL: no memory or no thread. The driver must outlive it. */
npu_hex_guard *npu_hex_guard_create(const npu_hex_driver *driver, int domain, uint64_t timeout_us);
/* Between the two the clock runs, from the outermost begin. The session's own thread; |guard| may be NULL. */
void npu_hex_guard_begin(npu_hex_guard *guard);
void npu_hex_guard_end(npu_hex_guard *guard);
double npu_hex_guard_limit_s(const npu_hex_guard *guard); /* the time that it gives a call */
bool npu_hex_guard_has_ended(npu_hex_guard *guard);       /* it had to end the process */
void npu_hex_guard_free(npu_hex_guard *guard);

#endif
