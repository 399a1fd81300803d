/* What is there, by looking only: sysfs entries of accel devices, and the nodes. The generations are data in
 * xdna_chip.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/xdna/xdna_chip.h"
#include "target/xdna/xdna_sys.h"

/* First line of a small file; "" when it can't be read. */
static void read_line(const char *path, char *out, size_t size) {
    FILE *f = fopen(path, "re");
    out[0] = 0;
    if (!f) return;
    if (!fgets(out, (int)size, f)) out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    fclose(f);
}

static void take_chip(npu_xdna_info *info, const npu_xdna_chip *chip) {
    snprintf(info->generation, sizeof info->generation, "%s", chip->generation);
    info->columns = chip->columns;
    info->core_rows = chip->core_rows;
    info->contexts = chip->contexts;
    info->heap_bytes = AMDXDNA_HEAP_CHUNK;
    info->caps_known = true;
}

npu_status npu__xdna_generation(npu_xdna_info *info, npu_error *err) {
    for (unsigned i = 0; i < npu_xdna_n_chips; i++) {
        if (npu_xdna_chips[i].columns != info->columns && npu_xdna_chips[i].usable != info->columns) continue;
        uint32_t columns = info->columns, rows = info->core_rows;
        take_chip(info, &npu_xdna_chips[i]);
        info->columns = columns;
        info->core_rows = rows;
        return NPU_OK;
    }
    return npu_fail(err, NPU_REFUSED, "xdna.unknown_device", "%s says it has %u columns, which no known XDNA has",
                    info->node, info->columns);
}

/* Is |dir|, the PCI device of an accel node, one of AMD's? */
static bool look(const char *dir, npu_xdna_info *info) {
    char path[320], vendor[32], device[32], name[48];
    snprintf(path, sizeof path, "%s/vendor", dir);
    read_line(path, vendor, sizeof vendor);
    snprintf(path, sizeof path, "%s/device", dir);
    read_line(path, device, sizeof device);
    unsigned long id = strtoul(device, NULL, 16);
    if (strtoul(vendor, NULL, 16) != 0x1022) return false;
    snprintf(path, sizeof path, "%s/fw_version", dir);
    read_line(path, info->firmware, sizeof info->firmware);
    snprintf(path, sizeof path, "%s/vbnv", dir);
    read_line(path, name, sizeof name);
    for (unsigned i = 0; i < npu_xdna_n_chips; i++)
        if (npu_xdna_chips[i].pci_device == id) take_chip(info, &npu_xdna_chips[i]);
    if (!*name) snprintf(name, sizeof name, "AMD NPU %04lx", id & 0xFFFF);
    snprintf(info->device, sizeof info->device, "%s", name);
    return true;
}

npu_status npu__xdna_find(const char *root, const char *node, npu_xdna_info *info, npu_error *err) {
    char dir[256], path[256];
    for (unsigned i = 0; i < NPU_XDNA_NODES; i++) {
        *info = (npu_xdna_info){0};
        snprintf(info->node, sizeof info->node, "/dev/accel/accel%u", i);
        if (node && strcmp(node, info->node) != 0) continue;
        snprintf(dir, sizeof dir, "%s/sys/class/accel/accel%u/device", root, i);
        snprintf(path, sizeof path, "%s%s", root, info->node);
        if (!look(dir, info)) continue;
        if (!access(path, R_OK | W_OK)) return NPU_OK;
        return npu_fail(err, NPU_NO_DEVICE, "xdna.no_device", "%s (%s) is there but can't be opened: %s", info->node,
                        info->device, strerror(errno));
    }
    snprintf(path, sizeof path, "%s/sys/class/accel", root);
    const char *what = access(path, F_OK) ? "not there" : "none is";
    char all[48];
    snprintf(all, sizeof all, "/dev/accel/accel0 to accel%d", NPU_XDNA_NODES - 1);
    return npu_fail(err, NPU_NO_DEVICE, "xdna.no_device",
                    "no XDNA device: looked for %s of AMD's in /sys/class/accel (%s); " NPU_XDNA_EMULATED,
                    node ? node : all, what);
}
