// Hardware contexts: creation, kernels, end.
#include "emu_xdna.h"

#include <errno.h>
#include <string.h>

static uint32_t limit(const struct emu_file *f) {
    const struct emu_settings *s = &f->settings;
    if (s->contexts) return s->contexts;
    return s->generation->number == 2 && s->profile->contexts ? s->profile->contexts : s->generation->contexts;
}

struct emu_context *emu_hwctx_of(struct emu_file *f, uint32_t handle) {
    for (int i = 0; i < EMU_CONTEXTS; i++)
        if (handle && f->contexts[i].handle == handle) return &f->contexts[i];
    return NULL;
}

// Contexts are the device's, not the file's.
static uint32_t contexts_in_all(void) {
    uint32_t sum = 0;
    for (int i = 0; i < EMU_FILES; i++)
        if (emu.files[i].fd >= 0) sum += emu.files[i].n_contexts;
    return sum;
}

int emu_hwctx_create(struct emu_file *f, struct amdxdna_create_hwctx *c) {
    const uint32_t core_rows = 4;
    struct amdxdna_qos qos = {0};
    if (c->ext || c->ext_flags || !c->num_tiles || c->num_tiles % core_rows) return EINVAL;
    if (!c->qos) return EFAULT;
    memcpy(&qos, (const void *)(uintptr_t)c->qos, f->settings.profile->qos_bytes); // a sanitizer sees too short ones
    if (qos.gops > 1000000 || qos.fps > 1000000) return EINVAL;
    if (c->num_tiles / core_rows > f->settings.generation->columns) return EINVAL;
    int error = emu_heap_check(f);
    if (error) return error;
    if (contexts_in_all() >= limit(f)) return EINVAL; // what the firmware's refusal becomes
    struct emu_context *context = f->contexts;
    while (context < f->contexts + EMU_CONTEXTS && context->handle) context++;
    if (context == f->contexts + EMU_CONTEXTS) return EINVAL;
    memset(context, 0, sizeof *context);
    context->handle = ++f->next_context;
    context->columns = c->num_tiles / core_rows;
    for (int i = 0; i < 4; i++) context->hidden[i] = UINT64_MAX - EMU_PAGE; // nowhere yet
    for (int i = 0; i < 4 && !error; i++) error = emu_heap_take(f, EMU_PAGE, &context->hidden[i]);
    if (error) {
        context->handle = 0;
        return error;
    }
    f->n_contexts++;
    c->handle = context->handle;
    c->syncobj = context->handle + 1000;
    c->umq_doorbell = 0;
    return 0;
}

int emu_hwctx_destroy(struct emu_file *f, const struct amdxdna_destroy_hwctx *d) {
    struct emu_context *c = emu_hwctx_of(f, d->handle);
    if (!c || d->pad) return EINVAL;
    uint64_t deadline = emu_now_ns() + 2000000000u; // as long as the driver waits before it aborts
    bool idle_hoped = true;
    while (idle_hoped && !f->lost && c->handle == d->handle && c->completed < c->submitted)
        idle_hoped = emu_wait(deadline);
    if (c->handle != d->handle) return 0; // somebody else's destroy was faster
    emu_exec_end(f, c, AMDXDNA_STATE_ABORT);
    c->handle = 0;
    f->n_contexts--;
    return 0;
}

static int check_cus(struct emu_file *f, const struct amdxdna_config_cu *cu, uint32_t bytes) {
    if (!cu->count || cu->count > 32 || bytes < 8 + 8u * cu->count) return EINVAL;
    for (int i = 0; i < cu->count; i++) {
        const struct emu_bo *bo = emu_bo_of(f, cu->cus[i].bo);
        if (!bo || bo->type != AMDXDNA_BO_DEV || cu->cus[i].pad[0] | cu->cus[i].pad[1] | cu->cus[i].pad[2])
            return EINVAL;
    }
    return 0;
}

int emu_hwctx_config(struct emu_file *f, const struct amdxdna_config_hwctx *c) {
    struct emu_context *context = emu_hwctx_of(f, c->handle);
    struct amdxdna_config_cu cu = {0};
    if (!context || c->pad || c->param != AMDXDNA_CONFIG_CU || context->n_cus) return EINVAL;
    if (c->value_bytes > 4096) return E2BIG;
    if (!c->value) return EFAULT;
    if (c->value_bytes < 8) return EINVAL;
    memcpy(&cu, (const void *)(uintptr_t)c->value, c->value_bytes < sizeof cu ? c->value_bytes : sizeof cu);
    int error = check_cus(f, &cu, c->value_bytes);
    if (error) return error;
    memcpy(context->cus, cu.cus, sizeof cu.cus);
    context->n_cus = cu.count;
    return 0;
}
