// Result codes of the FastRPC interface, by their public names and numbers. Included by the two AEEStdErr.h (host/,
// dsp/), which say what AEE_EOFFSET is: 0 in host code, 0x80000400 in code of the DSP. A code raised by DSP code thus
// reaches the host with the offset already in it; the transport adds nothing. Not included directly.
#ifndef NPU_EMU_AEE_CODES_H
#define NPU_EMU_AEE_CODES_H

typedef int AEEResult;

#define DSP_AEE_EOFFSET 0x80000400u
#define AEE_CODE(n)     ((AEEResult)(AEE_EOFFSET + (n)))

#define AEE_SUCCESS  0
#define AEE_EUNKNOWN (-1)

#define AEE_EFAILED              AEE_CODE(0x01)
#define AEE_ENOMEMORY            AEE_CODE(0x02)
#define AEE_ECLASSNOTSUPPORT     AEE_CODE(0x03)
#define AEE_EVERSIONNOTSUPPORT   AEE_CODE(0x04)
#define AEE_EALREADYLOADED       AEE_CODE(0x05)
#define AEE_EUNABLETOLOAD        AEE_CODE(0x06)
#define AEE_EUNABLETOUNLOAD      AEE_CODE(0x07)
#define AEE_EBADCLASS            AEE_CODE(0x0A)
#define AEE_EEXPIRED             AEE_CODE(0x0C)
#define AEE_EBADSTATE            AEE_CODE(0x0D)
#define AEE_EBADPARM             AEE_CODE(0x0E)
#define AEE_ESCHEMENOTSUPPORTED  AEE_CODE(0x0F)
#define AEE_EBADITEM             AEE_CODE(0x10)
#define AEE_EINVALIDFORMAT       AEE_CODE(0x11)
#define AEE_EUNSUPPORTED         AEE_CODE(0x14)
#define AEE_ERESOURCENOTFOUND    AEE_CODE(0x16)
#define AEE_EALREADY             AEE_CODE(0x1A)
#define AEE_EITEMBUSY            AEE_CODE(0x20)
#define AEE_EBUFFERTOOSMALL      AEE_CODE(0x26)
#define AEE_EINVHANDLE           AEE_CODE(0x2C)
#define AEE_ENOMORE              AEE_CODE(0x2F)
#define AEE_ECPUEXCEPTION        AEE_CODE(0x30)
#define AEE_EREADONLY            AEE_CODE(0x31)
#define AEE_EINVALIDDOMAIN       AEE_CODE(0x39)
#define AEE_EINVALIDFD           AEE_CODE(0x3A)
#define AEE_ENOSUCHSYMBOL        AEE_CODE(0x42)
#define AEE_ENOSUCHDEVICE        AEE_CODE(0x43)
#define AEE_ENOSUCHFILE          AEE_CODE(0x45)
#define AEE_ENOSUCHMAP           AEE_CODE(0x48)
#define AEE_EBADDOMAIN           AEE_CODE(0x4B)
#define AEE_EBADSIZE             AEE_CODE(0x4D)
#define AEE_EBADPERMS            AEE_CODE(0x4E)
#define AEE_EMMAP                AEE_CODE(0x65)
#define AEE_ENORPCMEMORY         AEE_CODE(0x68)
#define AEE_ENOTINITIALIZED      AEE_CODE(0x6B)
#define AEE_EUNSUPPORTEDAPI      AEE_CODE(0x6C)
#define AEE_ECONNREFUSED         AEE_CODE(0x72)
#define AEE_EBADMAPREFCNT        AEE_CODE(0x85)
#define AEE_ENOSESSION           AEE_CODE(0x8A)
#define AEE_EQURTTHREADCREATE    AEE_CODE(0x14B)
#define AEE_EPROCESSCREATE       AEE_CODE(0x14F)
#define AEE_ESTUBSKELVERMISMATCH AEE_CODE(0x194)
#define AEE_ERPC                 AEE_CODE(0x200)
#define AEE_EFILE                AEE_CODE(0x201)

// These four carry no offset on either side. 104 is also the host number of AEE_ENORPCMEMORY: the interface has it so.
#define AEE_ENOSUCH      39
#define AEE_EINTERRUPTED 46
#define AEE_ECONNRESET   104
#define AEE_EWOULDBLOCK  516

#endif
