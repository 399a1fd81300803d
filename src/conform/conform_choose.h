/* Which op and type a case is of: all in turn, or those that were asked for. Called by conform.c. */
#ifndef NPU_CONFORM_CHOOSE_H
#define NPU_CONFORM_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "conform/conform.h"
#include "conform/conform_case.h"

/* The |i|-th (row, type) that the filters of |params| let through, counted around; false when there is none. */
bool npu_case_choose(const npu_conform_params *params, uint32_t i, const npu_case_row **row, uint32_t *type);

/* INVALID, as npu_conform_run when there is none: names what there is instead, ops, or the types of the op asked for.
 */
npu_status npu_case_none(const npu_conform_params *params, npu_error *err);

#endif
