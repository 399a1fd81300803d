// xdna_emu_test LIBRARY: the emulated XDNA device by its kernel interface.
#include "rows.h"

#include <stdio.h>

int kit_setup(void **state) {
    (void)state;
    kit_defaults();
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    snprintf(kit_library, sizeof kit_library, "%s", argv[1]);
    if (argc > 2) cmocka_set_test_filter(argv[2]);
    int bad = _cmocka_run_group_tests("memory", memory_rows, n_memory_rows, NULL, NULL);
    bad += _cmocka_run_group_tests("command", command_rows, n_command_rows, NULL, NULL);
    bad += _cmocka_run_group_tests("packet", packet_rows, n_packet_rows, NULL, NULL);
    return bad + _cmocka_run_group_tests("fault", fault_rows, n_fault_rows, NULL, NULL);
}
