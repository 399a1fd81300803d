/* What the NPU program needs of FastRPC: result codes with the DSP's offset, invocation arguments, the packet queue. By
 * our own declarations. */
#ifndef HTP_PLATFORM_FASTRPC_H
#define HTP_PLATFORM_FASTRPC_H

#include <stddef.h>
#include <stdint.h>

enum {
    AEE_SUCCESS = 0,
    AEE_EWOULDBLOCK = 516,
};
#define HTP_AEE(code)          ((int)(0x80000400u + (code)))
#define AEE_EFAILED            HTP_AEE(0x01)
#define AEE_ENOMEMORY          HTP_AEE(0x02)
#define AEE_EVERSIONNOTSUPPORT HTP_AEE(0x04)
#define AEE_EEXPIRED           HTP_AEE(0x0C)
#define AEE_EBADSTATE          HTP_AEE(0x0D)
#define AEE_EBADPARM           HTP_AEE(0x0E)
#define AEE_EUNSUPPORTED       HTP_AEE(0x14)
#define AEE_ERESOURCENOTFOUND  HTP_AEE(0x16)

typedef uint64_t remote_handle64;

typedef union {
    struct {
        void *pv;
        size_t nLen;
    } buf;
    uint32_t h;
    uint64_t h64;
} remote_arg;

#define REMOTE_SCALARS_METHOD(sc)  (((sc) >> 24) & 0x1fu)
#define REMOTE_SCALARS_INBUFS(sc)  (((sc) >> 16) & 0xffu)
#define REMOTE_SCALARS_OUTBUFS(sc) (((sc) >> 8) & 0xffu)
#define REMOTE_SCALARS_HANDLES(sc) ((sc)&0xffu) /* in and out handles */

typedef struct dspqueue *dspqueue_t;
typedef void (*dspqueue_callback_t)(dspqueue_t queue, int error, void *context);
struct dspqueue_buffer;

int dspqueue_import(uint64_t queue_id, dspqueue_callback_t packet_callback, dspqueue_callback_t error_callback,
                    void *callback_context, dspqueue_t *queue);
int dspqueue_close(dspqueue_t queue);
int dspqueue_read(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                  struct dspqueue_buffer *buffers, uint32_t max_message_length, uint32_t *message_length,
                  uint8_t *message, uint32_t timeout_us);
int dspqueue_read_noblock(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                          struct dspqueue_buffer *buffers, uint32_t max_message_length, uint32_t *message_length,
                          uint8_t *message);
int dspqueue_write(dspqueue_t queue, uint32_t flags, uint32_t num_buffers, struct dspqueue_buffer *buffers,
                   uint32_t message_length, const uint8_t *message, uint32_t timeout_us);

#endif
