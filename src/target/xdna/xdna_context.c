/* Hardware contexts and the kernels in them. */
#include <stdlib.h>
#include <string.h>

#include "target/xdna/xdna_kernel.h"
#include "target/xdna/xdna_sys.h"

static npu_status fits(const npu_xdna *dev, const npu_xdna_kernel *k, const npu_xdna_image *image, npu_error *err) {
    const npu_xdna_info *info = &dev->info;
    if (image->emulated && !info->emulated)
        return npu_fail(err, NPU_REFUSED, "xdna.kernel_emulated",
                        "kernel %s is a description for the emulated device, and %s is a real one", k->name,
                        info->node);
    if (image->columns > info->columns)
        return npu_fail(err, NPU_REFUSED, "xdna.kernel_device", "kernel %s takes %u columns, and %s has %u", k->name,
                        image->columns, info->node, info->columns);
    if (image->generation && image->generation != dev->chip->number)
        return npu_fail(err, NPU_REFUSED, "xdna.kernel_device", "kernel %s is for xdna%u, and %s is %s", k->name,
                        image->generation, info->node, info->generation);
    return NPU_OK;
}

static npu_status load(npu_xdna_context *c, const npu_xdna_kernel *k, const npu_xdna_image *image, npu_error *err) {
    struct npu_xdna_ready *at = &c->kernels[c->n_kernels++];
    uint32_t words[NPU_XDNA_STREAM_WORDS];
    const void *insts = k->insts;
    size_t bytes = k->insts_bytes;
    if (!insts) {
        npu__xdna_stream(c->owner->chip->number, image->columns, words);
        insts = words;
        bytes = sizeof words;
    }
    at->n_words = (uint32_t)(bytes / 4);
    NPU_TRY(npu__xdna_code_new(c->owner, image->pdi, image->pdi_bytes, &at->pdi, err));
    return npu__xdna_code_new(c->owner, insts, bytes, &at->insts, err);
}

static npu_status create(npu_xdna_context *c, uint32_t columns, uint32_t ops_per_cycle, npu_error *err) {
    npu_xdna *dev = c->owner;
    /* All zero asks for nothing special; one version reads eight words, where 0xFF means "not requested". */
    struct amdxdna_qos qos = {.user_start_col = 0xFF};
    struct amdxdna_create_hwctx create = {
        .qos = (uint64_t)(uintptr_t)&qos, .max_opc = ops_per_cycle, .num_tiles = columns * dev->info.core_rows};
    npu_error why = {0};
    npu_status status = npu__xdna_ioctl(dev, AMDXDNA_CREATE_HWCTX, "CREATE_HWCTX", &create, &why);
    if (status == NPU_INTERNAL || status == NPU_DEVICE_LOST) { /* EINVAL: the firmware refuses; ENODEV: no columns */
        dev->lost = false;
        return npu_fail(err, NPU_NO_DEVICE, "xdna.no_context",
                        "%s has no hardware context left of %u, which all programs share (%s)", dev->info.node,
                        dev->info.contexts, why.text);
    }
    if (status != NPU_OK) {
        if (err) *err = why;
        return status;
    }
    c->handle = create.handle;
    c->syncobj = create.syncobj;
    return NPU_OK;
}

static npu_status configure(npu_xdna_context *c, const npu_xdna_image *images, npu_error *err) {
    struct amdxdna_config_cu cu = {.count = (uint16_t)c->n_kernels};
    for (uint32_t i = 0; i < c->n_kernels; i++)
        cu.cus[i] = (struct amdxdna_cu){.bo = c->kernels[i].pdi.handle, .func = images[i].functional};
    struct amdxdna_config_hwctx config = {.handle = c->handle,
                                          .param = AMDXDNA_CONFIG_CU,
                                          .value = (uint64_t)(uintptr_t)&cu,
                                          .value_bytes = 8 + 8 * c->n_kernels};
    return npu__xdna_ioctl(c->owner, AMDXDNA_CONFIG_HWCTX, "CONFIG_HWCTX", &config, err);
}

static npu_status build(npu_xdna_context *c, const npu_xdna_kernel *kernels, uint32_t n, npu_xdna_image *images,
                        npu_error *err) {
    uint32_t columns = 0;
    for (uint32_t i = 0; i < n; i++) {
        NPU_TRY(npu__xdna_image_read(&kernels[i], &images[i], err));
        NPU_TRY(fits(c->owner, &kernels[i], &images[i], err));
        if (images[i].columns > columns) columns = images[i].columns;
    }
    NPU_TRY(create(c, columns, images[0].ops_per_cycle, err));
    for (uint32_t i = 0; i < n; i++) NPU_TRY(load(c, &kernels[i], &images[i], err));
    NPU_TRY(configure(c, images, err));
    for (unsigned i = 0; i < NPU_XDNA_QUEUE; i++)
        NPU_TRY(npu__xdna_buffer_new(c->owner, AMDXDNA_BO_CMD, 4096, &c->slots[i].cmd, err));
    return NPU_OK;
}

npu_status npu_xdna_context_create(npu_xdna *dev, const npu_xdna_kernel *kernels, uint32_t n, npu_xdna_context **out,
                                   npu_error *err) {
    npu_xdna_image images[NPU_XDNA_KERNELS];
    *out = NULL;
    if (!n || n > NPU_XDNA_KERNELS)
        return npu_fail(err, NPU_RANGE, "xdna.kernels", "a context takes 1 to %d kernels, not %u", NPU_XDNA_KERNELS, n);
    NPU_TRY(npu__xdna_usable(dev, err));
    npu_xdna_context *c = calloc(1, sizeof *c);
    if (!c) return npu_fail(err, NPU_NO_MEMORY, "xdna.no_memory", "no memory for a context's record");
    c->owner = dev;
    c->next = dev->contexts;
    dev->contexts = c;
    npu_status status = build(c, kernels, n, images, err);
    if (status != NPU_OK) {
        npu_xdna_context_destroy(c);
        return status;
    }
    dev->counters.contexts++;
    *out = c;
    return NPU_OK;
}

void npu_xdna_context_destroy(npu_xdna_context *context) {
    if (!context) return;
    npu_xdna *dev = context->owner;
    npu_xdna_context **at = &dev->contexts;
    while (*at != context) at = &(*at)->next;
    *at = context->next;
    struct amdxdna_syncobj_destroy syncobj = {context->syncobj, 0};
    struct amdxdna_destroy_hwctx destroy = {context->handle, 0};
    if (context->handle) {
        npu__xdna_ioctl(dev, AMDXDNA_DRM_SYNCOBJ_DESTROY, "SYNCOBJ_DESTROY", &syncobj, NULL);
        npu__xdna_ioctl(dev, AMDXDNA_DESTROY_HWCTX, "DESTROY_HWCTX", &destroy, NULL);
    }
    for (unsigned i = 0; i < NPU_XDNA_QUEUE; i++) npu_xdna_buffer_free(context->slots[i].cmd);
    for (uint32_t i = 0; i < context->n_kernels; i++) {
        npu__xdna_code_free(dev, &context->kernels[i].insts);
        npu__xdna_code_free(dev, &context->kernels[i].pdi);
    }
    free(context);
}
