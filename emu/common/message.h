// Whole messages over a socket, with at most one descriptor beside them. All return 0, or -1 when the peer is gone.
#ifndef EMU_COMMON_MESSAGE_H
#define EMU_COMMON_MESSAGE_H

#include <stddef.h>

// |fd| -1 for none. One packet of a SOCK_SEQPACKET socket.
int emu_message_send(int socket, const void *data, size_t bytes, int fd);
// *fd is the received descriptor or -1; a caller that passes NULL gets none (it is closed).
int emu_message_receive(int socket, void *data, size_t bytes, int *fd);

// Streams: all bytes or -1.
int emu_stream_write(int socket, const void *data, size_t bytes);
int emu_stream_read(int socket, void *data, size_t bytes);

#endif
