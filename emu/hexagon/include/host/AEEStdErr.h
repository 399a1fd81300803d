// Result codes as host code sees and returns them (no offset).
#ifndef NPU_EMU_HOST_AEESTDERR_H
#define NPU_EMU_HOST_AEESTDERR_H
#define AEE_EOFFSET 0u
#include "../common/aee_codes.h"
#endif
