// Result codes as code of the DSP sees and returns them: with the offset, in native builds too, where no compiler macro
// tells that this is DSP code.
#ifndef NPU_EMU_DSP_AEESTDERR_H
#define NPU_EMU_DSP_AEESTDERR_H
#define AEE_EOFFSET 0x80000400u
#include "../common/aee_codes.h"
#endif
