// The tests, by file; main.c runs them.
#ifndef EMU_XDNA_ROWS_H
#define EMU_XDNA_ROWS_H

#include "kit.h"

int kit_setup(void **state);
#define ROW(name) cmocka_unit_test_setup(name, kit_setup)

extern const struct CMUnitTest memory_rows[], command_rows[], packet_rows[], fault_rows[];
extern const size_t n_memory_rows, n_command_rows, n_packet_rows, n_fault_rows;

#endif
