/* npu gate: records what a model says, computes and costs on a device; checks that it still does, or compares two
 * recordings. The exit status says which gates failed (gate.h). */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "cli/gate.h"

static int open_session(const cli_options *o, cli_session *session) {
    cli_look_for_interrupt();
    int bad = cli_open_model(o, true, session);
    return bad ? bad : cli_open_context(o, session);
}

static int record(const cli_options *o) {
    cli_session session = {0};
    gate_recording now = {0};
    if (!o->output) return cli_usage("npu gate record needs --output DIR");
    int bad = open_session(o, &session);
    if (!bad) bad = cli_gate_measure(o, &session, NULL, &now);
    if (!bad) bad = cli_gate_write(o->output, o, &session, &now);
    if (!bad && !o->quiet)
        cli_line(
            stdout, "%s: %zu answers, %zu prompts' logits, %zu profile rows, plan %s", o->output,
            json_array_size(json_object_get(now.doc, "texts")), json_array_size(json_object_get(now.doc, "logits")),
            json_array_size(json_object_get(json_object_get(now.doc, "profile"), "rows")), session.context->plan->hash);
    cli_gate_free(&now);
    return cli_close(&session, bad);
}

static int judge(const cli_options *o, const gate_recording *was, const gate_recording *now, const npu_plan *plan) {
    unsigned failed = cli_gate_compare(o, was, now, plan);
    return failed ? (int)(GATE_EXIT + failed) : 0;
}

static int check(const cli_options *given) {
    cli_options o = *given;
    cli_session session = {0};
    gate_recording was, now = {0};
    if (o.output) return cli_usage("npu gate check has no flag --output");
    int bad = cli_gate_read(o.positional[1], &was);
    if (!bad) cli_gate_options(&was, &o);
    if (!bad) bad = cli_show_kernels(&o);
    if (!bad) bad = cli_check_options(&o);
    if (!bad) bad = open_session(&o, &session);
    if (!bad) bad = cli_gate_measure(&o, &session, &was, &now);
    if (!bad) bad = judge(&o, &was, &now, session.context->plan);
    bad = cli_close(&session, bad);
    cli_gate_free(&now);
    cli_gate_free(&was);
    return bad;
}

static int compare(const cli_options *o) {
    gate_recording was = {0}, now = {0};
    if (o->profile) return cli_usage("--profile has no effect with npu gate compare: nothing is run");
    int bad = cli_gate_read(o->positional[1], &was);
    if (!bad) bad = cli_gate_read(o->positional[2], &now);
    if (!bad) bad = judge(o, &was, &now, now.plan);
    cli_gate_free(&now);
    cli_gate_free(&was);
    return bad;
}

int cli_gate(const cli_options *o) {
    static const struct {
        const char *name;
        int operands;
        int (*run)(const cli_options *o);
    } kinds[] = {{"record", 1, record}, {"check", 2, check}, {"compare", 3, compare}};
    int bad = o->npu_target ? cli_check_target(o) : 0; /* the rest may come from the recording */
    if (bad) return bad;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(o->positional[0], kinds[i].name) != 0) continue;
        if (o->n_positional == kinds[i].operands) return kinds[i].run(o);
        return cli_usage("npu gate %s takes %d folder%s", kinds[i].name, kinds[i].operands - 1,
                         kinds[i].operands == 2 ? "" : "s");
    }
    return cli_usage("npu gate: '%s' is none of record, check, compare", o->positional[0]);
}
