#include "cli/profile.h"

#include <string.h>

#include "cli/cli.h"

static cli_profile_row *row_of(cli_profile *p, const npu_profile_entry *e) {
    for (unsigned i = 0; i < p->n; i++) {
        cli_profile_row *r = &p->rows[i];
        if (!strcmp(r->owner, e->owner) && !strcmp(r->role, e->role) && !strcmp(r->op, e->op)) return r;
    }
    if (p->n == CLI_PROFILE_ROWS) return NULL;
    p->rows[p->n] = (cli_profile_row){.owner = e->owner, .role = e->role, .op = e->op};
    return &p->rows[p->n++];
}

void cli_profile_add(void *user, const npu_profile_entry *e) {
    cli_profile *p = user;
    const uint64_t phases[CLI_PHASES] = {e->pack_ns, e->quant_ns,    e->launch_ns,
                                         e->wait_ns, e->readback_ns, e->dequant_ns};
    cli_profile_row *r = row_of(p, e);
    if (!r) {
        p->lost++;
        return;
    }
    r->calls++;
    r->rows += e->rows;
    r->ns += e->ns;
    r->fallbacks += e->is_fallback;
    r->retries += e->retries;
    r->mapped_bytes += e->mapped_bytes;
    for (int i = 0; i < CLI_PHASES; i++) r->phase_ns[i] += phases[i];
}

void cli_profile_start(cli_profile *profile, npu_context *context) {
    npu_context_profile(context, cli_profile_add, profile);
}

const char *cli_phase_name(cli_phase phase) {
    static const char *const names[] = {"pack", "quant", "launch", "wait", "readback", "dequant"};
    return names[phase];
}

/* What all rows have together. */
static cli_profile_row total_of(const cli_profile *p) {
    cli_profile_row all = {0};
    for (unsigned i = 0; i < p->n; i++) {
        all.ns += p->rows[i].ns;
        all.fallbacks += p->rows[i].fallbacks;
        all.retries += p->rows[i].retries;
        all.mapped_bytes += p->rows[i].mapped_bytes;
        for (int k = 0; k < CLI_PHASES; k++) all.phase_ns[k] += p->rows[i].phase_ns[k];
    }
    return all;
}

static void print_heads(const cli_profile_row *all, FILE *out) {
    fprintf(out, "%-8s %-14s %-12s %8s %10s %10s %6s", "owner", "role", "op", "calls", "rows", "ms", "%");
    for (int k = 0; k < CLI_PHASES; k++)
        if (all->phase_ns[k]) fprintf(out, " %9s", cli_phase_name((cli_phase)k));
    if (all->fallbacks) fprintf(out, " %9s", "fallbacks");
    if (all->retries) fprintf(out, " %8s", "retries");
    if (all->mapped_bytes) fprintf(out, " %10s", "MiB mapped");
    fputc('\n', out);
}

static void print_row(const cli_profile_row *r, const cli_profile_row *all, FILE *out) {
    fprintf(out, "%-8s %-14s %-12s %8llu %10llu %10.2f %6.1f", r->owner, r->role, r->op, (unsigned long long)r->calls,
            (unsigned long long)r->rows, (double)r->ns / 1e6, all->ns ? 100.0 * (double)r->ns / (double)all->ns : 0);
    for (int k = 0; k < CLI_PHASES; k++)
        if (all->phase_ns[k]) fprintf(out, " %9.2f", (double)r->phase_ns[k] / 1e6);
    if (all->fallbacks) fprintf(out, " %9llu", (unsigned long long)r->fallbacks);
    if (all->retries) fprintf(out, " %8llu", (unsigned long long)r->retries);
    if (all->mapped_bytes) fprintf(out, " %10.1f", (double)r->mapped_bytes / CLI_MIB);
    fputc('\n', out);
}

void cli_profile_print_none(FILE *out) {
    fputs("no op was run: there is no profile\n", out);
}

void cli_profile_print(const cli_profile *profile, FILE *out) {
    cli_profile_row all = total_of(profile);
    if (!profile->n) return cli_profile_print_none(out);
    print_heads(&all, out);
    for (unsigned i = 0; i < profile->n; i++) print_row(&profile->rows[i], &all, out);
    if (profile->lost) fprintf(out, "%llu calls more, of other roles\n", (unsigned long long)profile->lost);
}

void cli_profile_print_device(const npu_context *context, FILE *out) {
    npu_counters c;
    npu_context_counters(context, &c);
    if (!c.steps || !c.rows || !c.dma_bytes) return;
    fprintf(
        out,
        "%llu steps with %llu rows; a step: %.2f barriers, %.2f fences; a row: %.1f KiB by DMA, %.2f KiB cleaned and "
        "dropped from the cache\n",
        (unsigned long long)c.steps, (unsigned long long)c.rows, (double)c.barriers / (double)c.steps,
        (double)c.fences / (double)c.steps, (double)c.dma_bytes / (double)c.rows / 1024,
        (double)c.cache_bytes / (double)c.rows / 1024);
}
