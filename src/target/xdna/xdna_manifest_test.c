/* Kernels folders: generated ones read back whole and are made once; every way in which a manifest or a file can be
 * wrong is refused by its own code and name. Sidecar images: every field of the head that differs refuses the file. */
#include <setjmp.h>
#include <sha256.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "target/xdna/xdna_image.h"
#include "target/xdna/xdna_manifest.h"

static char folder[64];

static char *path_of(const char *dir, const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    fclose(f);
}

static char *read_text(const char *path) {
    static char text[8192];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static const npu_plan_kernel wanted[] = {
    {.role = NPU_ROLE_QKV, .M = 16, .K = 576, .N = 960, .kind = "int8"},
    {.role = NPU_ROLE_QKV, .M = 128, .K = 576, .N = 960, .kind = "int8"},
    {.role = NPU_ROLE_HEAD, .M = 16, .K = 576, .N = 4096, .kind = "head"},
};

enum { WANTED = sizeof wanted / sizeof wanted[0] };

static void generated_folder(void **state) {
    (void)state;
    char *dir = NULL, *again = NULL;
    npu_error err = {0};
    npu_xdna_manifest m;
    assert_int_equal(npu_xdna_emu_kernels(folder, "xdna2", wanted, WANTED, &dir, &err), NPU_OK);
    if (npu_xdna_manifest_read(dir, &m, &err) != NPU_OK) fail_msg("%s", err.text);
    assert_string_equal(m.generation, "xdna2");
    assert_int_equal(m.n, WANTED);
    for (uint32_t i = 0; i < m.n; i++) {
        npu_xdna_kernel_files files;
        npu_xdna_layout l;
        assert_int_equal(m.kernels[i].role, wanted[i].role);
        assert_int_equal(m.kernels[i].M, wanted[i].M);
        assert_int_equal(m.kernels[i].N, wanted[i].N);
        assert_string_equal(m.kernels[i].kind, wanted[i].kind);
        assert_int_equal(npu_xdna_kernel_layout(&m.kernels[i], &l, &err), NPU_OK);
        assert_true(l.tiled && l.r == 8 && l.kt == NPU_XDNA_EMU_TILE);
        if (npu_xdna_kernel_open(&m, i, false, &files, &err) != NPU_OK) fail_msg("%s", err.text);
        assert_true(files.emulated);
        assert_int_equal(files.columns, 8);
        npu_xdna_kernel_close(&files);
    }
    npu_xdna_manifest_free(&m);
    struct stat before, after;
    assert_int_equal(stat(path_of(dir, NPU_XDNA_MANIFEST), &before), 0);
    assert_int_equal(npu_xdna_emu_kernels(folder, "xdna2", wanted, WANTED, &again, &err), NPU_OK);
    assert_string_equal(dir, again);
    assert_int_equal(stat(path_of(dir, NPU_XDNA_MANIFEST), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    free(again);
    assert_int_equal(npu_xdna_emu_kernels(folder, "xdna1", wanted, WANTED, &again, &err), NPU_OK);
    assert_string_not_equal(dir, again);
    free(again);
    free(dir);
}

static void a_cache_that_can_not_be_written(void **state) {
    (void)state;
    char *dir = NULL;
    npu_error err = {0};
    assert_int_equal(npu_xdna_emu_kernels("/proc/npu", "xdna2", wanted, WANTED, &dir, &err), NPU_IO);
    assert_string_equal(err.code, "xdna.cache");
    assert_null(dir);
}

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KERNEL(role, M, K, N, kind, layout, file, sha)                                                                 \
    "{\"role\": \"" role "\", \"M\": " M ", \"K\": " K ", \"N\": " N ", \"kind\": \"" kind "\", \"layout\": \"" layout \
    "\", \"file\": \"" file "\", \"sha256\": \"" sha "\"}"
#define MANIFEST(kernels) "{\"npu_xdna_kernels\": 1, \"kernels\": [" kernels "]}"
#define TILES             "tiles 8x8x8 64x64"

static const struct {
    const char *text, *code, *name;
} broken[] = {
    {"", "plan.manifest", "empty"},
    {"{", "plan.manifest", "line 1"},
    {"[]", "plan.manifest", "version"},
    {"{\"npu_xdna_kernels\": 2, \"kernels\": []}", "plan.manifest", "version"},
    {"{\"npu_xdna_kernels\": 1}", "plan.manifest", "kernels"},
    {"{\"npu_xdna_kernels\": 1, \"hadamard\": -1, \"kernels\": []}", "plan.manifest", "hadamard"},
    {MANIFEST("7"), "plan.manifest", "role"},
    {MANIFEST(KERNEL("qqq", "16", "64", "64", "int8", TILES, "f", SHA)), "plan.role", "\"qqq\""},
    {MANIFEST(KERNEL("o", "0", "64", "64", "int8", TILES, "f", SHA)), "plan.dims", "M is 0"},
    {MANIFEST(KERNEL("o", "16", "-64", "64", "int8", TILES, "f", SHA)), "plan.dims", "K is -64"},
    {MANIFEST(KERNEL("o", "16", "64", "99999999", "int8", TILES, "f", SHA)), "plan.dims", "N is 99999999"},
    {MANIFEST(KERNEL("o", "16", "64", "64", "fp8", TILES, "f", SHA)), "plan.manifest", "kind"},
    {MANIFEST(KERNEL("o", "16", "64", "64", "int8", "tiles 8x8x8 48x64", "f", SHA)), "plan.kernel_shape", "48x64"},
    {MANIFEST(KERNEL("o", "16", "64", "64", "int8", "tiles 8x8x8 64x64x", "f", SHA)), "plan.kernel_shape", "64x64x"},
    {MANIFEST(KERNEL("o", "16", "64", "64", "int8", "columns", "f", SHA)), "plan.kernel_shape", "columns"},
    {MANIFEST(KERNEL("o", "16", "64", "64", "int8", TILES, "../f", SHA)), "plan.manifest", "file"},
    {MANIFEST(KERNEL("o", "16", "64", "64", "int8", TILES, "..", SHA)), "plan.manifest", "file"},
    {MANIFEST(KERNEL("o", "16", "64", "64", "int8", TILES, "f", "12")), "plan.manifest", "sha256"},
    {MANIFEST("{\"role\": \"o\"}"), "plan.manifest", "M is not a number"},
};

static void broken_manifests(void **state) {
    (void)state;
    npu_xdna_manifest m;
    npu_error err = {0};
    (void)unlink(path_of(folder, NPU_XDNA_MANIFEST));
    assert_int_equal(npu_xdna_manifest_read(folder, &m, &err), NPU_REFUSED);
    assert_string_equal(err.code, "plan.manifest");
    assert_non_null(strstr(err.text, folder));
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        write_text(path_of(folder, NPU_XDNA_MANIFEST), broken[i].text);
        if (npu_xdna_manifest_read(folder, &m, &err) != NPU_REFUSED) fail_msg("read: %s", broken[i].text);
        if (strcmp(err.code, broken[i].code) != 0 || !strstr(err.text, broken[i].name))
            fail_msg("%s: %s, not %s: %s", err.code, err.text, broken[i].code, broken[i].name);
        assert_null(m.dir);
    }
}

/* A kernel of the right name with another content, another shape inside, or none. */
static void broken_kernels(void **state) {
    (void)state;
    char *dir = NULL;
    npu_error err = {0};
    npu_xdna_manifest m;
    npu_xdna_kernel_files files;
    assert_int_equal(npu_xdna_emu_kernels(folder, "xdna2", wanted, 2, &dir, &err), NPU_OK);
    assert_int_equal(npu_xdna_manifest_read(dir, &m, &err), NPU_OK);
    char *text = strdup(read_text(path_of(dir, m.kernels[0].file)));
    write_text(path_of(dir, m.kernels[0].file), "npu-emu-kernel 1\n");
    assert_int_equal(npu_xdna_kernel_open(&m, 0, false, &files, &err), NPU_REFUSED);
    assert_string_equal(err.code, "plan.kernel_hash");
    assert_non_null(strstr(err.text, m.kernels[0].file));
    (void)unlink(path_of(dir, m.kernels[0].file));
    assert_int_equal(npu_xdna_kernel_open(&m, 0, false, &files, &err), NPU_REFUSED);
    assert_string_equal(err.code, "plan.kernel_missing");
    write_text(path_of(dir, m.kernels[0].file), text);
    m.kernels[0].N = 1024; /* the hash is right, the shape is not */
    assert_int_equal(npu_xdna_kernel_open(&m, 0, false, &files, &err), NPU_REFUSED);
    assert_string_equal(err.code, "plan.kernel_shape");
    assert_non_null(strstr(err.text, "16 576 960"));
    m.kernels[0].N = 960; /* lines may come in another order, and the last one ends with the file */
    char *shape = strstr(text, "shape "), last[64] = "";
    assert_non_null(shape);
    size_t n = strcspn(shape, "\n"), rest = strlen(shape + n);
    assert_true(n < sizeof last && text[strlen(text) - 1] == '\n');
    memcpy(last, shape, n);
    memmove(shape, shape + n + 1, rest);
    strcat(text, last);
    write_text(path_of(dir, m.kernels[0].file), text);
    SHA256Data((const uint8_t *)text, strlen(text), m.kernels[0].sha256);
    if (npu_xdna_kernel_open(&m, 0, false, &files, &err) != NPU_OK) fail_msg("%s", err.text);
    npu_xdna_kernel_close(&files);
    m.kernels[0].N = 1024;
    assert_int_equal(npu_xdna_kernel_open(&m, 0, false, &files, &err), NPU_REFUSED);
    assert_non_null(strstr(err.text, "16 576 960"));
    m.kernels[0].N = 960; /* a layout that fits the shape too: sums would be wrong */
    snprintf(m.kernels[1].layout, sizeof m.kernels[1].layout, "tiles 8x8x8 64x32");
    assert_int_equal(npu_xdna_kernel_open(&m, 1, false, &files, &err), NPU_REFUSED);
    assert_string_equal(err.code, "plan.kernel_shape");
    assert_non_null(strstr(err.text, "core is \"64 64\" in the file, \"64 32\" by the manifest"));
    if (npu_xdna_kernel_open(&m, 1, true, &files, &err) != NPU_OK) fail_msg("%s", err.text);
    npu_xdna_kernel_close(&files);
    free(text);
    npu_xdna_manifest_free(&m);
    free(dir);
}

static void sidecar_images(void **state) {
    (void)state;
    enum { K = 64, N = 32 };
    float scales[N], back[N];
    uint8_t codes[K * N], codes_back[K * N];
    npu_error err = {0};
    char path[128];
    npu_xdna_image_head head = {
        .kind = "xdna_int8", .layout = TILES, .layer = 3, .role = 5, .K = K, .N = N, .real_k = 60, .real_n = 30};
    head.source_hash = npu_xdna_image_hash(0, "weights", 7);
    for (int i = 0; i < N; i++) scales[i] = (float)i * 0.25f;
    for (int i = 0; i < K * N; i++) codes[i] = (uint8_t)(i * 7);
    snprintf(path, sizeof path, "%s/3-qkv.img", folder);
    assert_int_equal(npu_xdna_image_read(path, &head, back, codes_back, &err), NPU_NOT_FOUND);
    assert_int_equal(npu_xdna_image_write(path, &head, scales, codes, &err), NPU_OK);
    assert_int_equal(npu_xdna_image_read(path, &head, back, codes_back, &err), NPU_OK);
    assert_memory_equal(scales, back, sizeof scales);
    assert_memory_equal(codes, codes_back, sizeof codes);
    npu_xdna_image_head other[9];
    static const char *const names[] = {"kind", "layout", "layer",     "layer",      "K",
                                        "N",    "real",   "real dims", "source hash"};
    for (int i = 0; i < 9; i++) other[i] = head;
    other[0].kind[5] = 'x', other[1].layout[6] = '4', other[2].layer++, other[3].role++, other[4].K = 128;
    other[5].N = 64, other[6].real_k--, other[7].real_n--, other[8].source_hash++;
    for (int i = 0; i < 9; i++) {
        if (npu_xdna_image_read(path, &other[i], back, codes_back, &err) != NPU_REFUSED) fail_msg("%s", names[i]);
        assert_string_equal(err.code, "xdna.image");
        if (!strstr(err.text, names[i]) || !strstr(err.text, path)) fail_msg("%s: %s", names[i], err.text);
    }
    other[0] = head;
    other[0].hadamard = 32;
    assert_int_equal(npu_xdna_image_read(path, &other[0], back, codes_back, &err), NPU_REFUSED);
    assert_non_null(strstr(err.text, "Hadamard"));
    /* Every single byte of the file counts; so does its length. */
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    for (long at = 0; at < (long)sizeof head + 300; at += at < (long)sizeof head ? 1 : 37) {
        int c;
        fseek(f, at, SEEK_SET);
        c = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(c ^ 0x40, f);
        fflush(f);
        if (npu_xdna_image_read(path, &head, back, codes_back, &err) == NPU_OK) fail_msg("byte %ld", at);
        fseek(f, at, SEEK_SET);
        fputc(c, f);
        fflush(f);
    }
    fclose(f);
    assert_int_equal(npu_xdna_image_read(path, &head, back, codes_back, &err), NPU_OK);
    assert_int_equal(truncate(path, sizeof head + 100), 0);
    assert_int_equal(npu_xdna_image_read(path, &head, back, codes_back, &err), NPU_REFUSED);
    assert_int_equal(truncate(path, 10), 0);
    assert_int_equal(npu_xdna_image_read(path, &head, back, codes_back, &err), NPU_REFUSED);
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/npu-xdna-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_folder), cmocka_unit_test(a_cache_that_can_not_be_written),
        cmocka_unit_test(broken_manifests), cmocka_unit_test(broken_kernels),
        cmocka_unit_test(sidecar_images),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
