/* npu plan: what runs where, in which layout, and why; printed as a table, written as plan.json, or checked. */
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "cli/cli.h"
#include "plan/plan.h"
#include "wire/format.h"

static void print_entry(const npu_plan_entry *e) {
    const npu_op_info *op = npu_op_find(e->code);
    char layer[8];
    snprintf(layer, sizeof layer, e->layer == NPU_NO_LAYER ? "-" : "%u", e->layer);
    printf("%5s  %-14s %-10s %-7s %6u %7u %10.1f  %-6s %s\n", layer, npu_role_name(e->role), op ? op->name : "?",
           e->n_tensors ? npu_format_name(e->type) : "-", e->K, e->N, (double)e->bytes / 1024,
           e->on_device ? "device" : "host", e->on_device ? e->image : e->why);
}

static void print_plan(const npu_plan *p) {
    printf("%s (%s), %u layers, on %s: %s\n", p->model_name, p->architecture, p->n_layers, p->target, p->caps.device);
    printf("weights %.1f MB, state %.1f MB, compute %.1f MB; context %u, %u sequence%s; hash %s\n\n",
           (double)p->weight_bytes / 1e6, (double)p->state_bytes / 1e6, (double)p->compute_bytes / 1e6, p->settings.ctx,
           p->settings.n_seq, p->settings.n_seq == 1 ? "" : "s", p->hash);
    for (uint32_t i = 0; i < p->n_facts; i++)
        printf("  %-24s %-20s %s\n", p->facts[i].name, p->facts[i].value, p->facts[i].key);
    printf("\n%5s  %-14s %-10s %-7s %6s %7s %10s  %-6s %s\n", "layer", "role", "op", "type", "K", "N", "KiB", "where",
           "image or why");
    for (uint32_t i = 0; i < p->n_entries; i++) print_entry(&p->entries[i]);
    uint32_t host = npu_plan_fallbacks(p, NULL);
    if (host) printf("\n%u of %u ops stay on the host\n", host, p->n_entries);
}

int cli_plan(const cli_options *o) {
    if (o->check && !o->plan) return cli_usage("--check needs --plan FILE");
    cli_session session;
    npu_plan *plan = NULL;
    npu_error err = {0};
    int bad = cli_open_model(o, false, &session);
    if (!bad) {
        npu_context_params params = cli_context_params(o);
        params.progress = NULL;
        bad = cli_choose_target(o, &params.npu_target);
        if (!bad && o->arch && !params.npu_target)
            bad = cli_usage("--arch has no effect on the CPU: it needs --npu-target NAME or --device npu");
        if (!bad && npu_api_plan(session.model, &params, o->arch, &plan, &err) != NPU_OK) bad = cli_fail(&err);
    }
    if (!bad && o->output && npu_plan_write(plan, o->output, &err) != NPU_OK) bad = cli_fail(&err);
    if (!bad && !o->output && !o->check) print_plan(plan);
    npu_plan_free(plan);
    cli_close(&session);
    return bad;
}
