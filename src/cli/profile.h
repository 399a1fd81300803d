/* Sums of a context's profile by owner, role and op: the table of --profile, and what npu gate records. */
#ifndef NPU_CLI_PROFILE_H
#define NPU_CLI_PROFILE_H

#include <stdio.h>

#include "npu/npu.h"

enum { CLI_PROFILE_ROWS = 256 };

/* Phases of a call on a device, in the order of the columns. */
typedef enum cli_phase {
    CLI_PHASE_PACK,
    CLI_PHASE_QUANT,
    CLI_PHASE_LAUNCH,
    CLI_PHASE_WAIT,
    CLI_PHASE_READBACK,
    CLI_PHASE_DEQUANT,
    CLI_PHASES
} cli_phase;

typedef struct cli_profile_row {
    const char *owner, *role, *op;
    uint64_t calls, rows, ns, fallbacks, retries, mapped_bytes;
    uint64_t phase_ns[CLI_PHASES];
} cli_profile_row;

typedef struct cli_profile {
    cli_profile_row rows[CLI_PROFILE_ROWS];
    unsigned n;
    uint64_t lost; /* entries for which there was no row left */
} cli_profile;

/* Adds one entry; an npu_profile_fn, |profile| is the cli_profile. */
void cli_profile_add(void *profile, const npu_profile_entry *entry);

/* From now on the context adds to |profile|, which must outlive it. */
void cli_profile_start(cli_profile *profile, npu_context *context);

/* Says that there is nothing to print. */
void cli_profile_print_none(FILE *out);
/* Columns that are 0 in every row are left out. */
void cli_profile_print(const cli_profile *profile, FILE *out);
/* What the NPU did beside computing, for each step and each of its rows. Nothing without an NPU that tells. */
void cli_profile_print_device(const npu_context *context, FILE *out);

const char *cli_phase_name(cli_phase phase); /* "pack", "quant", … */

#endif
