/* Results that take time to compute: a file of the given name holds a whole one or is not there, whatever ends the
 * process. It is written beside itself and renamed at the end; devices, pipes and links are written in place. And
 * whether a name may be written to at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "cli/cli.h"

/* Where results go, NULL where nothing does. */
typedef struct results {
    struct result {
        int option;
        const char *path;
    } list[2];
} results;

static results results_of(const cli_options *o) {
    return (results){{{CLI_OPT_output, o->output}, {CLI_OPT_trace_path, o->trace_path}}};
}

/* Whether |path| is there and is that file. */
static bool is_file(const char *path, uint64_t device, uint64_t inode) {
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == device && st.st_ino == inode;
}

/* A result would destroy the user's file that is read, or another result. */
int cli_check_results(const cli_options *o) {
    const struct result read[] = {
        {CLI_OPT_model, o->model},         {CLI_OPT_file, o->file},
        {CLI_OPT_template, o->template},   {CLI_OPT_json_schema, o->json_schema},
        {CLI_OPT_plan_path, o->plan_path}, {CLI_OPT_text, o->text},
        {CLI_OPT_messages, o->messages},   {CLI_OPT_ids, o->ids && *o->ids == '@' ? o->ids + 1 : NULL}};
    results to = results_of(o);
    struct stat st;
    if (o->output && o->trace_path &&
        (!strcmp(o->output, o->trace_path) ||
         (stat(o->output, &st) == 0 && is_file(o->trace_path, st.st_dev, st.st_ino))))
        return cli_usage("--trace %s is what --output writes", o->trace_path);
    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
        for (int k = 0; read[i].path && k < 2; k++)
            if (stat(read[i].path, &st) == 0 && is_file(to.list[k].path, st.st_dev, st.st_ino))
                return cli_usage("%s %s is what %s reads", cli_option_name(to.list[k].option), to.list[k].path,
                                 cli_option_name(read[i].option));
    return 0;
}

int cli_check_parts(const cli_options *o, const npu_model *model) {
    results to = results_of(o);
    for (size_t i = 0; i < npu_gguf_file_count(model->gguf); i++) {
        const npu_gguf_file *f = npu_gguf_file_at(model->gguf, i);
        for (int k = 0; k < 2; k++)
            if (is_file(to.list[k].path, f->device, f->inode))
                return cli_usage("%s %s is a part of the model", cli_option_name(to.list[k].option), to.list[k].path);
    }
    return 0;
}

/* A file that a rename replaces without taking anything from anybody: ours, of one name, and we may write to it. */
static bool is_replaceable(const char *path, struct stat *st) {
    st->st_mode = 0;
    if (lstat(path, st) != 0) return errno == ENOENT;
    return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_uid == geteuid() && access(path, W_OK) == 0;
}

/* The file to be renamed; without one (no room for the name, a folder that takes no new files) the result is written in
 * place. */
static void open_part(cli_output *out) {
    struct stat st;
    size_t size = strlen(out->path) + 32;
    if (!is_replaceable(out->path, &st) || !(out->part = malloc(size))) return;
    snprintf(out->part, size, "%s.%ld.part", out->path, (long)getpid());
    int fd = open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && st.st_mode) (void)fchmod(fd, st.st_mode & 07777);
    out->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (out->file) return;
    if (fd >= 0) {
        close(fd);
        unlink(out->part);
    }
    free(out->part);
    out->part = NULL;
}

/* What is not whole yet, for a handler of signals. */
static _Atomic(const char *) unfinished;

void cli_output_abandon(void) {
    const char *path = unfinished;
    if (path) cli_discard(path);
}

int cli_output_open(const char *path, cli_output *out) {
    *out = (cli_output){.path = path};
    open_part(out);
    if (!out->file) out->file = fopen(path, "wb");
    npu_error err = {0};
    if (!out->file && cli_go_on(&err) != NPU_OK) return cli_fail(&err); /* a pipe without a reader */
    if (!out->file) return cli_error("%s: %s", path, strerror(errno));
    unfinished = out->part ? out->part : path;
    return 0;
}

int cli_output_close(cli_output *out, int bad) {
    if (!out->file) return bad;
    if (fclose(out->file) != 0 && !bad) bad = cli_error("%s: %s", out->path, strerror(errno));
    if (!bad && out->part && rename(out->part, out->path) != 0) bad = cli_error("%s: %s", out->path, strerror(errno));
    if (bad) cli_discard(out->part ? out->part : out->path);
    unfinished = NULL;
    free(out->part);
    *out = (cli_output){0};
    return bad;
}
