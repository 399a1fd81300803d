/* Kernels folders for the emulated device, made up from shapes: its kernels are only descriptions. A folder is named by
 * the SHA-256 of its manifest, which holds those of the files, so equal folders are made once and never change. */
#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/xdna/xdna_chip.h"
#include "target/xdna/xdna_manifest.h"

enum { DESCRIPTION = 256, ENTRY = 512, NAME = 96 };

/* A device that no table knows gets kernels of the newest. */
static const npu_xdna_chip *chip_of(const char *generation) {
    const npu_xdna_chip *chip = npu_xdna_chip_named(generation);
    return chip ? chip : &npu_xdna_chips[npu_xdna_n_chips - 1];
}

static void describe(const npu_plan_kernel *k, const npu_xdna_chip *g, char out[DESCRIPTION]) {
    snprintf(out, DESCRIPTION,
             "npu-emu-kernel 1\nkind %s\nshape %u %u %u\nlayout tiles\nmicro %u 8 8\ncore %d %d\ncolumns %u\n"
             "generation %s\n",
             k->kind, k->M, k->K, k->N, g->micro_rows, NPU_XDNA_EMU_TILE, NPU_XDNA_EMU_TILE, g->usable, g->generation);
}

static void name_file(const npu_plan_kernel *k, char out[NAME]) {
    snprintf(out, NAME, "%s_%s_m%u_k%u_n%u.emu", npu_role_name(k->role), k->kind, k->M, k->K, k->N);
}

/* The manifest as text, which the caller frees; NULL when out of memory. */
static char *manifest_text(const npu_plan_kernel *kernels, uint32_t n, const npu_xdna_chip *g) {
    size_t size = 256 + (size_t)n * ENTRY, used = 0;
    char *out = malloc(size), description[DESCRIPTION], file[NAME], sha[SHA256_DIGEST_STRING_LENGTH] = "";
    if (!out) return NULL;
    used += (size_t)snprintf(out, size, "{\n \"npu_xdna_kernels\": 1,\n \"generation\": \"%s\",\n \"kernels\": [",
                             g->generation);
    for (uint32_t i = 0; i < n; i++) {
        const npu_plan_kernel *k = &kernels[i];
        describe(k, g, description);
        name_file(k, file);
        SHA256Data((const uint8_t *)description, strlen(description), sha);
        used +=
            (size_t)snprintf(out + used, size - used,
                             "%s\n  {\"role\": \"%s\", \"M\": %u, \"K\": %u, \"N\": %u, \"kind\": \"%s\", \"layout\": "
                             "\"tiles %ux8x8 %dx%d\", \"file\": \"%s\", \"sha256\": \"%s\"}",
                             i ? "," : "", npu_role_name(k->role), k->M, k->K, k->N, k->kind, g->micro_rows,
                             NPU_XDNA_EMU_TILE, NPU_XDNA_EMU_TILE, file, sha);
    }
    snprintf(out + used, size - used, "\n ]\n}\n");
    return out;
}

/* Written under another name first: other processes see a whole file or none. */
static npu_status write_file(const char *dir, const char *name, const char *content, npu_error *err) {
    size_t size = strlen(dir) + strlen(name) + 40;
    char *paths = malloc(2 * size);
    if (!paths) return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for a path");
    char *path = paths, *part = paths + size;
    snprintf(path, size, "%s/%s", dir, name);
    snprintf(part, size, "%s/.%s.%ld", dir, name, (long)getpid());
    FILE *f = fopen(part, "wbe");
    bool good = f && fwrite(content, 1, strlen(content), f) == strlen(content);
    if (f) good = !fclose(f) && good;
    good = good && !rename(part, path);
    npu_status status = good ? NPU_OK : npu_fail(err, NPU_IO, "xdna.cache", "%s: %s", path, strerror(errno));
    if (!good && f) (void)unlink(part);
    free(paths);
    return status;
}

/* Makes |path| and the folders above it. */
static npu_status make_dirs(char *path, npu_error *err) {
    for (char *p = path + 1;; p++) {
        char c = *p;
        if (c && c != '/') continue;
        *p = 0;
        bool made = !mkdir(path, 0777) || errno == EEXIST;
        int why = errno;
        *p = c;
        if (!made) return npu_fail(err, NPU_IO, "xdna.cache", "%s: %s", path, strerror(why));
        if (!c) return NPU_OK;
    }
}

static npu_status fill(char *dir, const char *manifest, const npu_plan_kernel *kernels, uint32_t n,
                       const npu_xdna_chip *g, npu_error *err) {
    char description[DESCRIPTION], file[NAME];
    NPU_TRY(make_dirs(dir, err));
    for (uint32_t i = 0; i < n; i++) {
        describe(&kernels[i], g, description);
        name_file(&kernels[i], file);
        NPU_TRY(write_file(dir, file, description, err));
    }
    return write_file(dir, NPU_XDNA_MANIFEST, manifest, err);
}

static bool is_there(const char *dir) {
    size_t size = strlen(dir) + sizeof "/" NPU_XDNA_MANIFEST;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s/" NPU_XDNA_MANIFEST, dir);
    bool there = path && !access(path, R_OK);
    free(path);
    return there;
}

npu_status npu_xdna_emu_kernels(const char *cache_dir, const char *generation, const npu_plan_kernel *kernels,
                                uint32_t n, char **dir, npu_error *err) {
    char sha[SHA256_DIGEST_STRING_LENGTH] = "";
    const npu_xdna_chip *g = chip_of(generation);
    size_t size = strlen(cache_dir) + sizeof "/xdna-emu/" + NPU_PLAN_HASH_LEN;
    char *manifest = manifest_text(kernels, n, g);
    *dir = malloc(size);
    npu_status status = NPU_OK;
    if (!manifest || !*dir) status = npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for %u kernels", n);
    if (status == NPU_OK) {
        SHA256Data((const uint8_t *)manifest, strlen(manifest), sha);
        snprintf(*dir, size, "%s/xdna-emu/%.32s", cache_dir, sha);
        if (!is_there(*dir)) status = fill(*dir, manifest, kernels, n, g, err);
    }
    free(manifest);
    if (status != NPU_OK) {
        free(*dir);
        *dir = NULL;
    }
    return status;
}
