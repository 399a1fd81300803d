/* Ends the NPU process when a call of the vendor's library does not come back.
 *
 * FastRPC calls that wait for the program have no time limit of their own, and a library may not keep the limit that
 * the calls of a packet queue are given. A thread looks now and then how long the call takes that is under way; too
 * long, and it ends the process (FASTRPC_REMOTE_PROCESS_KILL), and the call fails as it does when a process dies by
 * itself. A batch pays for this with a few stores.
 *
 * Its clock stands while this process is stopped, by a shell, a debugger or whoever freezes it: a device that had no
 * time to answer, or whose answer nobody could read, has not hung.
 *
 * The library must let a call return once its process was ended, and that request too. A thread in one that does not
 * can't be left: what it may still write to would have to stay for ever. Then npu_target_stuck is told, after another
 * NPU_HEX_CALL_LEAST_S seconds.
 */
#ifndef NPU_HEXAGON_WATCH_H
#define NPU_HEXAGON_WATCH_H

#include "target/hexagon/hexagon_driver.h"

typedef struct npu_hex_watch npu_hex_watch;

/* Such calls have this long at least: a machine that emulates may be busy. Seconds. */
enum { NPU_HEX_CALL_LEAST_S = 20 };

/* A watch of |domain|, which |name| is said for, with its thread. NULL: no memory or no thread. The driver must outlive
 * it. */
npu_hex_watch *npu_hex_watch_create(const npu_hex_driver *driver, const char *name, int domain, uint64_t timeout_us);
/* Once it is known which process it is: asking for that is watched too. */
void npu_hex_watch_set_domain(npu_hex_watch *watch, int domain);
/* Between begin and end the clock runs, by the outermost begin: of a call without a limit, or of one whose library has
 * to come back within |us|, a second at least. The session's own thread; |watch| may be NULL. */
void npu_hex_watch_begin(npu_hex_watch *watch);
void npu_hex_watch_begin_within(npu_hex_watch *watch, uint64_t us);
void npu_hex_watch_end(npu_hex_watch *watch);
/* Microseconds from some moment on, without those in which this process was stopped, but for two looks. Any thread. */
uint64_t npu_hex_watch_clock_us(npu_hex_watch *watch);
double npu_hex_watch_limit_s(const npu_hex_watch *watch); /* the time that it gives a call without a limit */
bool npu_hex_watch_has_ended(const npu_hex_watch *watch); /* it had to end the process */
void npu_hex_watch_free(npu_hex_watch *watch);

#endif
