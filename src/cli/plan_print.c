#include "cli/plan_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "wire/format.h"

static const char *op_name(const npu_plan_entry *e) {
    const npu_op_info *op = npu_op_find(e->code);
    return op ? op->name : "?";
}

static void print_place(const npu_plan *p, bool device) {
    uint32_t n = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->n_entries; i++) {
        if (p->entries[i].on_device != device) continue;
        n++;
        bytes += p->entries[i].bytes;
    }
    if (!device || n)
        printf("  on the %s: %u of %u ops, %.1f MiB of weights\n", device ? "NPU" : "CPU", n, p->n_entries,
               (double)bytes / CLI_MIB);
}

/* Ops that stay on the CPU beside an NPU, each role once with the reason. */
static void print_reasons(const npu_plan *p) {
    bool *said = calloc(p->n_entries + 1, sizeof *said);
    if (!said) return;
    for (uint32_t i = 0; i < p->n_entries; i++) {
        const npu_plan_entry *e = &p->entries[i];
        unsigned n = 0;
        if (e->on_device || said[i]) continue;
        for (uint32_t k = i; k < p->n_entries; k++) {
            const npu_plan_entry *other = &p->entries[k];
            if (other->on_device || other->role != e->role || other->code != e->code || strcmp(other->why, e->why) != 0)
                continue;
            said[k] = true;
            n++;
        }
        cli_line(stdout, "    %-14s %-12s %4u x  %s", npu_role_name(e->role), op_name(e), n, e->why);
    }
    free(said);
}

static void print_summary(const npu_plan *p) {
    const npu_plan_settings *s = &p->settings;
    const char *fast =
        p->caps.bit_exact ? "fast mode (no effect on this CPU: it needs AVX-512 BF16 or AMX), " : "fast mode, ";
    const char *const modes[] = {"", "exact mode, ", fast};
    bool beside = strcmp(p->target, "host") != 0;
    cli_line(stdout, "%s (%s), %u layers, for %s: %s", p->model_name, p->architecture, p->n_layers, p->target,
             p->caps.device);
    print_place(p, true);
    print_place(p, false);
    if (beside) print_reasons(p);
    printf("  memory: weights %.1f MiB, KV cache %.1f MiB, intermediate results %.1f MiB, inputs and logits %.1f MiB\n",
           (double)p->weight_bytes / CLI_MIB, (double)p->state_bytes / CLI_MIB, (double)p->compute_bytes / CLI_MIB,
           (double)p->io_bytes / CLI_MIB);
    printf(
        "  settings: %scontext %u, %u sequence%s, KV cache %s, up to %u rows a step when decoding and %u of a prompt\n",
        modes[s->mode], s->ctx, s->n_seq, s->n_seq == 1 ? "" : "s", npu_format_name(s->kv_type), s->decode_rows,
        s->prefill_rows);
    if (!p->caps.bit_exact && beside) puts("  numbers: near the CPU's, not the same bits (docs/numerics.md)");
    if (s->devices[0]) cli_line(stdout, "  devices: %s, split by %s", s->devices, s->split);
    printf("  plan %s\n", p->hash);
}

static void print_facts(const npu_plan *p) {
    puts("\nmodel facts, each with the key in the file that says so:");
    for (uint32_t i = 0; i < p->n_facts; i++)
        cli_line(stdout, "  %-24s %-20s %s", p->facts[i].name, p->facts[i].value, p->facts[i].key);
}

static void print_designs(const npu_plan *p) {
    if (!p->n_designs) return;
    printf("\ndesigns, how products are carried out (docs/plan.md):\n%6s  %-10s %6s %7s %7s %7s %8s %10s  %-12s %s\n",
           "design", "role", "K", "N", "real K", "real N", "Hadamard", "KiB", "image",
           "kernels for decoding, for prompts");
    for (uint32_t i = 0; i < p->n_designs; i++) {
        const npu_plan_design *d = &p->designs[i];
        const uint16_t uses[] = {d->decode_kernel, d->prefill_kernel};
        cli_part(stdout, "%6u  %-10s %6u %7u %7u %7u %8u %10.1f  %-12s", i, npu_role_name(d->role), d->K, d->N,
                 d->real_k, d->real_n, d->hadamard, (double)d->bytes / 1024, d->image);
        for (int k = 0; k < 2; k++)
            cli_part(stdout, "%s%s", k ? ", " : " ", uses[k] == NPU_PLAN_NO_KERNEL ? "-" : p->kernels[uses[k]].file);
        putchar('\n');
    }
    printf("\nkernels, from the manifest:\n%-40s %-10s %5s %6s %7s  %-12s %s\n", "file", "role", "M", "K", "N", "kind",
           "SHA-256");
    for (uint32_t i = 0; i < p->n_kernels; i++) {
        const npu_plan_kernel *k = &p->kernels[i];
        cli_line(stdout, "%-40s %-10s %5u %6u %7u  %-12s %.16s...", k->file, npu_role_name(k->role), k->M, k->K, k->N,
                 k->kind, k->sha256);
    }
}

static void print_entry(const npu_plan *p, const npu_plan_entry *e) {
    char layer[8], where[16], parts[32] = "";
    bool numbered = e->on_device && p->settings.devices[0] && !strcmp(p->settings.split, "layer");
    snprintf(where, sizeof where, numbered ? "dev %u" : e->on_device ? "device" : "host", e->device);
    snprintf(layer, sizeof layer, e->layer == NPU_NO_LAYER ? "-" : "%u", e->layer);
    if (e->parts > 1) snprintf(parts, sizeof parts, " in %u parts", e->parts);
    cli_line(stdout, "%5s  %-14s %-10s %-7s %6u %7u %10.1f  %-6s %s%s", layer, npu_role_name(e->role), op_name(e),
             e->n_tensors ? npu_format_name(e->type) : "-", e->K, e->N, (double)e->bytes / 1024, where,
             e->on_device ? e->image : e->why, parts);
}

void cli_print_plan(const npu_plan *p) {
    print_summary(p);
    print_facts(p);
    print_designs(p);
    printf("\nevery op, in order:\n%5s  %-14s %-10s %-7s %6s %7s %10s  %-6s %s\n", "layer", "role", "op", "type", "K",
           "N", "KiB", "where", "image or why");
    for (uint32_t i = 0; i < p->n_entries; i++) print_entry(p, &p->entries[i]);
}
