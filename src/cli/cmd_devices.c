/* npu devices: what each target of this build finds here. Probes only: no session and no model is opened, and
 * without --driver nothing is asked that only an emulated device could answer. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "target/target.h"

static void print_line(const npu_target_ops *t, npu_status status, const npu_caps *caps, const npu_error *err) {
    if (status != NPU_OK) {
        char text[CLI_TEXT];
        cli_line(stdout, "%-8s not usable: %s", t->name, cli_flags_in(err->text, text));
        return;
    }
    cli_part(stdout, "%-8s %s", t->name, caps->device);
    if (caps->hw.vtcm_bytes) printf(", %u HVX contexts, %u KiB VTCM", caps->hw.threads, caps->hw.vtcm_bytes / 1024);
    puts(caps->bit_exact ? "" : ", numbers near the CPU's, not the same bits");
}

static json_t *to_json(const npu_target_ops *t, npu_status status, const npu_caps *caps, const npu_error *err) {
    json_t *row = json_pack("{s:s, s:b}", "target", t->name, "usable", status == NPU_OK);
    if (status == NPU_OK) {
        cli_json_set(&row, "device", json_string(caps->device));
        cli_json_set(&row, "generation", json_string(caps->generation));
        cli_json_set(&row, "vtcm_bytes", json_integer(caps->hw.vtcm_bytes));
        cli_json_set(&row, "hvx_contexts", json_integer(caps->hw.threads));
        cli_json_set(&row, "window_bytes", json_integer((json_int_t)caps->hw.window_bytes));
        cli_json_set(&row, "bit_exact", json_boolean(caps->bit_exact));
    } else {
        char text[CLI_TEXT];
        cli_json_set(&row, "why", json_string(cli_flags_in(err->text, text)));
        cli_json_set(&row, "code", json_string(err->code));
    }
    return row;
}

int cli_devices(const cli_options *o) {
    int bad = cli_check_target(o);
    if (bad) return bad;
    npu_target_params params = {.logger = cli_logger(o),
                                .driver = o->driver,
                                .arch = o->arch,
                                .timeout_s = o->timeout_s,
                                .emu = o->emu[0] ? o->emu : NULL};
    json_t *rows = json_array();
    for (unsigned i = 0; npu_target_at(i); i++) {
        const npu_target_ops *t = npu_target_at(i);
        npu_error err = {0};
        npu_caps caps;
        if (!strcmp(t->name, "null") || (o->npu_target && strcmp(t->name, o->npu_target) != 0)) continue;
        npu_status status = t->probe(&params, &caps, &err);
        if (o->npu_target && status != NPU_OK) bad = cli_fail(&err); /* asked for and absent is an error */
        if (o->json)
            cli_json_add(&rows, to_json(t, status, &caps, &err));
        else
            print_line(t, status, &caps, &err);
    }
    if (!o->json) {
        json_decref(rows);
        return bad;
    }
    int printed = cli_print_json(rows, JSON_INDENT(1));
    return bad ? bad : printed;
}
