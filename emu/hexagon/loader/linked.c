// main of an NPU program that is an executable of its own, as under qemu: one program, linked with the runtime and with
// this file, compiled with -DNPU_EMU_SKEL=<interface>_skel_handle_invoke.
#include "../rtos/emu_dsp.h"

#include <string.h>

#define TEXT_OF(name)  #name
#define TEXT_OF2(name) TEXT_OF(name)

extern npu_emu_skel_fn NPU_EMU_SKEL;

npu_emu_skel_fn *emu_program_skel(const char *path, const char *symbol, int *code) {
    (void)path;
    *code = AEE_ENOSUCHSYMBOL;
    if (strcmp(symbol, TEXT_OF2(NPU_EMU_SKEL))) {
        emu_loud("this program has the skel %s, not %s", TEXT_OF2(NPU_EMU_SKEL), symbol);
        return NULL;
    }
    return NPU_EMU_SKEL;
}

int main(void) {
    return emu_process_run();
}
