/* What the process asked of the allocator while counting is on; host_cost_alloc.c stands in front of malloc for that.
 */
#ifndef NPU_CLI_HOST_COST_H
#define NPU_CLI_HOST_COST_H

#include <stdint.h>

#include "cli/cli.h"

/* Starts counting from 0; all threads. */
void cli_count_allocations(void);
/* Ends counting. -1 where the C library gives no way to count. */
int64_t cli_allocations(void);

/* npu bench --host-cost on an open session: what a decode step costs beside computing. Returns 0 or an exit code after
 * printing. */
uint32_t cli_host_cost_ctx(uint32_t depth, uint32_t steps); /* positions that it takes */
int cli_host_cost(const cli_options *o, cli_session *session, uint32_t depth, uint32_t steps);

#endif
