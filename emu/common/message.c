// See message.h. No signals: a closed peer is an answer, never SIGPIPE in somebody's process.
#include "message.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union one_fd {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int emu_message_send(int socket, const void *data, size_t bytes, int fd) {
    union one_fd control;
    struct iovec part = {(void *)(uintptr_t)data, bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    memset(&control, 0, sizeof control);
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    for (;;) {
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        return sent == (ssize_t)bytes ? 0 : -1;
    }
}

int emu_message_receive(int socket, void *data, size_t bytes, int *fd) {
    union one_fd control;
    struct iovec part = {data, bytes};
    ssize_t got;
    int received = -1;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    memset(&control, 0, sizeof control);
    do {
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got >= 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)) && control.header.cmsg_type == SCM_RIGHTS &&
        control.header.cmsg_level == SOL_SOCKET)
        memcpy(&received, CMSG_DATA(&control.header), sizeof received);
    if (fd) *fd = received;
    if (received >= 0 && (!fd || got != (ssize_t)bytes)) {
        close(received);
        if (fd) *fd = -1;
    }
    return got == (ssize_t)bytes ? 0 : -1;
}

int emu_stream_write(int socket, const void *data, size_t bytes) {
    const char *at = data;
    while (bytes) {
        ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return -1;
        at += sent;
        bytes -= (size_t)sent;
    }
    return 0;
}

int emu_stream_read(int socket, void *data, size_t bytes) {
    char *at = data;
    while (bytes) {
        ssize_t got = recv(socket, at, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        at += got;
        bytes -= (size_t)got;
    }
    return 0;
}
