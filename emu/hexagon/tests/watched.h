// What the rows about ends of the NPU process share: a queue whose end is noticed, and what must be seen then.
#ifndef EMU_TESTS_WATCHED_H
#define EMU_TESTS_WATCHED_H

#include "kit.h"

#include <stdatomic.h>

// Calls of the error callback of the last one opened; how often each status was notified, from the first one on.
extern atomic_int watched_errors, watched_statuses[8];

// Waits until *value is |expected|, for as long as the kit's patience lasts; what it is.
int watched_wait(atomic_int *value, int expected);
// A session with a queue that the probe answers and an error callback.
struct kit_queue watched_open(void);
// What every end of a process looks like afterwards, with |code| for the callback; then the same session works again.
void watched_ended(struct kit_queue *q, int code);
// A number that the emulator counts, of the first session; and waiting until it is |more_than| that.
unsigned long long watched_count(const char *name);
void watched_until(const char *name, unsigned long long more_than);
// Ends the process; what waits has had some time to begin. The other one is a thread's function: it does so once there
// were more than *|data| invocations, when that is given.
void watched_kill(void);
void *watched_killer(void *data);

#endif
