// What the settings of emulated devices share: numbers, and why a value was refused.
#ifndef EMU_COMMON_SETTING_H
#define EMU_COMMON_SETTING_H

#include <stdbool.h>
#include <stdint.h>

enum { EMU_REFUSAL_BYTES = 512, EMU_RANGE_BYTES = 64 }; // with a zero at the end; longer reasons are cut off

// A number from |least| to |most|: decimal, 0x… or 0…; with |units| it may end in K, M or G. False when |text| is none,
// which is noted as below.
bool emu_setting_number(const char *text, bool units, uint64_t least, uint64_t most, uint64_t *number);

// "64K..64M" of such a number; |text| has EMU_RANGE_BYTES.
void emu_setting_range(char *text, bool units, uint64_t least, uint64_t most);

// Notes for this thread why the value that is being set is refused, when there is more to say than that; "" forgets it.
void emu_setting_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
// What this thread noted last; its own.
const char *emu_setting_refusal(void);

#endif
