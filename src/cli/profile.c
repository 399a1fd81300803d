#include "cli/profile.h"

#include <string.h>

static void add(void *user, const npu_profile_entry *e) {
    cli_profile *p = user;
    unsigned i = 0;
    while (i < p->n &&
           (strcmp(p->rows[i].owner, e->owner) || strcmp(p->rows[i].role, e->role) || strcmp(p->rows[i].op, e->op)))
        i++;
    if (i == CLI_PROFILE_ROWS) return;
    if (i == p->n) {
        p->rows[p->n].owner = e->owner;
        p->rows[p->n].role = e->role;
        p->rows[p->n++].op = e->op;
    }
    p->rows[i].calls++;
    p->rows[i].rows += e->rows;
    p->rows[i].ns += e->ns;
}

void cli_profile_start(cli_profile *profile, npu_context *context) {
    npu_context_profile(context, add, profile);
}

void cli_profile_print(const cli_profile *profile, FILE *out) {
    uint64_t all = 0;
    for (unsigned i = 0; i < profile->n; i++) all += profile->rows[i].ns;
    fprintf(out, "%-8s %-16s %-12s %10s %10s %10s %6s\n", "owner", "role", "op", "calls", "rows", "ms", "%");
    for (unsigned i = 0; i < profile->n; i++)
        fprintf(out, "%-8s %-16s %-12s %10llu %10llu %10.2f %6.1f\n", profile->rows[i].owner, profile->rows[i].role,
                profile->rows[i].op, (unsigned long long)profile->rows[i].calls,
                (unsigned long long)profile->rows[i].rows, (double)profile->rows[i].ns / 1e6,
                all ? 100.0 * (double)profile->rows[i].ns / (double)all : 0);
}
