/* Sums of a context's per-op profile by owner, role and op, printed as a table (--profile). */
#ifndef NPU_CLI_PROFILE_H
#define NPU_CLI_PROFILE_H

#include <stdio.h>

#include "npu/npu.h"

enum { CLI_PROFILE_ROWS = 128 };

typedef struct cli_profile {
    struct {
        const char *owner, *role, *op;
        uint64_t calls, rows, ns;
    } rows[CLI_PROFILE_ROWS];
    unsigned n;
} cli_profile;

void cli_profile_start(cli_profile *profile, npu_context *context); /* |profile| must outlive the context */
void cli_profile_print(const cli_profile *profile, FILE *out);

#endif
