/* A plan to read: a summary, the facts, what a device needs besides, and a line for every op. */
#ifndef NPU_CLI_PLAN_PRINT_H
#define NPU_CLI_PLAN_PRINT_H

#include "plan/plan.h"

void cli_print_plan(const npu_plan *plan);

#endif
