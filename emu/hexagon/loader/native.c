// npu-emu-dsp: the NPU process of the driver "sim". Loads natively compiled NPU programs by dlopen; they find the QuRT,
// HAP and dspqueue names in this executable. Started by libcdsprpc.so.
//
// It is linked at a fixed low address and runs without address randomisation, so that the heap lies below 4 GiB like
// the rest of an NPU program's memory, and a run's addresses repeat.
#include "../rtos/emu_dsp.h"
#include "../strict/strict.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/personality.h>
#include <unistd.h>

npu_emu_skel_fn *emu_program_skel(const char *path, const char *symbol, int *code) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found;
    *code = AEE_EUNABLETOLOAD;
    if (!library) {
        emu_loud("%s", dlerror());
        return NULL;
    }
    found = dlsym(library, symbol);
    *code = AEE_ENOSUCHSYMBOL;
    if (!found) emu_loud("%s", dlerror());
    emu_strict_program(found);
    return (npu_emu_skel_fn *)(uintptr_t)found;
}

int main(int argc, char **argv) {
    int before = personality(0xFFFFFFFF);
    (void)argc;
    if (before >= 0 && !(before & ADDR_NO_RANDOMIZE) && personality((unsigned long)before | ADDR_NO_RANDOMIZE) >= 0)
        execv("/proc/self/exe", argv);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_ARENA_MAX, 1);
    return emu_process_run();
}
