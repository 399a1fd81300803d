/* What a command says and hears beside its work: errors, logs and JSON out; Ctrl-C and a model that shrinks in. */
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "base/mapfile.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "target/target.h"

enum { SILENT_SECONDS = 30 }; /* of work in a script or a log: short commands write no line */

static const char interrupted_line[] = "npu: error: cancelled [cli.interrupted]\n";
atomic_int cli_interrupted;

enum { PRINTED = 3 * 4096 }; /* two paths and the words around them */

static void print_plain(FILE *out, const char *format, va_list args) {
    char raw[PRINTED], text[PRINTED];
    int n = vsnprintf(raw, sizeof raw, format, args);
    npu_utf8_sanitize(text, sizeof text, raw, n < 0 ? 0 : strnlen(raw, sizeof raw));
    fputs(text, out);
}

void cli_part(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_plain(out, format, args);
    va_end(args);
}

void cli_line(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_plain(out, format, args);
    va_end(args);
    fputc('\n', out);
}

static void print_error(const char *format, va_list args) {
    fflush(stdout);
    fputs("npu: error: ", stderr);
    print_plain(stderr, format, args);
    fputc('\n', stderr);
}

int cli_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_error(format, args);
    va_end(args);
    return CLI_EXIT_USAGE;
}

int cli_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_error(format, args);
    va_end(args);
    return CLI_EXIT_FAILED;
}

void cli_json_set(json_t **object, const char *key, json_t *value) {
    if (json_object_set_new(*object, key, value) == 0) return;
    json_decref(*object);
    *object = NULL;
}

void cli_json_add(json_t **list, json_t *value) {
    if (json_array_append_new(*list, value) == 0) return;
    json_decref(*list);
    *list = NULL;
}

int cli_print_json(json_t *root, size_t flags) {
    if (!root) return cli_error("the result can't be told in JSON");
    char *text = npu_json_text(root, flags);
    json_decref(root);
    if (!text) return cli_error("no memory to print the result");
    puts(text);
    free(text);
    return CLI_EXIT_OK;
}

/* Codes of an NPU target's own, and of the NPU program ("htp."). */
static bool is_of_device(const npu_error *err) {
    size_t n = strcspn(err->code, ".");
    if (n == 3 && !strncmp(err->code, "htp", n)) return true;
    for (unsigned i = 0; npu_target_at(i); i++) {
        const char *name = npu_target_at(i)->name;
        if (npu_target_at(i)->is_npu && strlen(name) == n && !strncmp(err->code, name, n)) return true;
    }
    return false;
}

static int exit_code(const npu_error *err) {
    switch (err->status) {
    case NPU_OK:
        return CLI_EXIT_OK;
    case NPU_UNSUPPORTED:
    case NPU_REFUSED:
    case NPU_INVALID:
    case NPU_RANGE: /* a limit of ours: a schema, a template, a context that is too large */
        return CLI_EXIT_REFUSED;
    case NPU_NO_DEVICE:
        return CLI_EXIT_NO_DEVICE;
    case NPU_DEVICE_LOST:
    case NPU_DEVICE_SHORT:
    case NPU_TIMEOUT:
        return CLI_EXIT_DEVICE_FAILED;
    case NPU_CANCELLED:
        return CLI_EXIT_CANCELLED;
    default: /* what a device can't do for want of memory, or for a reason of its own, is its failure */
        return is_of_device(err) ? CLI_EXIT_DEVICE_FAILED : CLI_EXIT_FAILED;
    }
}

/* Only the emulator knows which --emu there are, only the target what --npu-devices and --split may say, only the table
 * of cases which --op and --type there are: what they don't know is refused there, and wrong usage all the same. */
static bool is_usage(const npu_error *err) {
    const char *dot = strrchr(err->code, '.');
    return (dot && !strcmp(dot, ".emu_setting")) || !strcmp(err->code, "hexagon.devices") ||
           !strcmp(err->code, "hexagon.split") || !strcmp(err->code, "target.devices") ||
           !strcmp(err->code, "conform.none");
}

const char *cli_flags_in(const char *text, char out[CLI_TEXT]) {
    size_t n = 0;
    while (*text && n + 1 < CLI_TEXT) {
        size_t len = *text == '`' ? strcspn(text + 1, "`") : 0;
        const char *flag = len && text[1 + len] ? cli_option_of(text + 1, len) : NULL;
        if (!flag) {
            out[n++] = *text++;
            continue;
        }
        int written = snprintf(out + n, CLI_TEXT - n, "%s", flag);
        n = n + (size_t)written < CLI_TEXT ? n + (size_t)written : CLI_TEXT - 1;
        text += len + 2;
    }
    out[n] = 0;
    return out;
}

static const char *text_of(const npu_error *err, char out[CLI_TEXT]) {
    return cli_flags_in(err->text[0] ? err->text : npu_status_text(err->status), out);
}

int cli_fail(const npu_error *err) {
    char text[CLI_TEXT];
    cli_error("%s [%s]", text_of(err, text), err->code);
    return is_usage(err) ? CLI_EXIT_USAGE : exit_code(err);
}

int cli_fail_in(const char *path, const npu_error *err) {
    char text[CLI_TEXT];
    cli_error("%s: %s [%s]", strcmp(path, "-") ? path : "standard input", text_of(err, text), err->code);
    return exit_code(err);
}

static atomic_bool is_looked_for;

static void on_interrupt(int signal) {
    (void)signal;
    if (is_looked_for && !cli_interrupted) {
        cli_interrupted = 1;
        return;
    }
    (void)!write(STDERR_FILENO, interrupted_line, sizeof interrupted_line - 1);
    cli_output_abandon();
    _exit(CLI_EXIT_CANCELLED);
}

void cli_catch_interrupt(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
}

void cli_look_for_interrupt(void) {
    is_looked_for = true;
}

npu_status cli_go_on(npu_error *err) {
    return cli_interrupted ? npu_fail(err, NPU_CANCELLED, "cli.interrupted", "cancelled") : NPU_OK;
}

void cli_progress(const cli_options *o, const char *what, size_t done, size_t all) {
    static double told; /* when a line was last written; before, when the work began; 0: no work is under way */
    if (o->quiet) return;
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
        if (done < all) fprintf(stderr, "%s %zu of %zu", what, done, all);
        return;
    }
    if (done >= all) {
        told = 0;
        return;
    }
    double now = cli_now();
    if (told == 0) told = now;
    if (now - told < SILENT_SECONDS) return;
    told = now;
    fprintf(stderr, "npu: %s %zu of %zu\n", what, done, all);
}

static void on_bus_error(int signal, siginfo_t *info, void *context) {
    (void)context;
    char path[4096], shown[4096];
    const char *text = ": shrank while in use\n";
    if (!npu_map_name_at(info->si_addr, path, sizeof path)) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(signal, &standard, NULL);
        return; /* the access is repeated and the standard action taken */
    }
    (void)!write(STDERR_FILENO, "npu: error: ", 12);
    npu_utf8_sanitize(shown, sizeof shown, path, strlen(path));
    (void)!write(STDERR_FILENO, shown, strlen(shown));
    (void)!write(STDERR_FILENO, text, strlen(text));
    cli_output_abandon();
    _exit(CLI_EXIT_FAILED);
}

void cli_catch_shrunk_file(void) {
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
}

/* The main thread does not come back from the library, so that nothing can be closed. */
static void on_stuck(const npu_error *err) {
    int code = cli_fail(err);
    cli_output_abandon();
    _exit(code);
}

void cli_end_when_stuck(void) {
    npu_target_on_stuck(on_stuck);
}

static void print_log(void *context, npu_log_level level, const char *text) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char with_flags[CLI_TEXT];
    (void)context;
    cli_line(stderr, "npu: %s: %s", names[level], cli_flags_in(text, with_flags));
}

npu_logger cli_logger(const cli_options *o) {
    npu_log_level level = o->verbose ? NPU_LOG_DEBUG : o->quiet ? NPU_LOG_ERROR : NPU_LOG_WARN;
    return (npu_logger){print_log, NULL, level};
}
