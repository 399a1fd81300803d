// What the skel of an NPU program needs of the remote interface.
#ifndef NPU_EMU_DSP_REMOTE_H
#define NPU_EMU_DSP_REMOTE_H
#include "../common/remote_args.h"
#endif
