/* One process owns the device: a lock file for each node and user, held while the device is open. The kernel drops the
 * lock with the process, however that ends; the file stays. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/xdna/xdna_sys.h"

/* The user's own folder for such files when there is one, else /tmp with the user's number in the name. */
static void lock_path(const char *folder, const char *name, char *out, size_t size) {
    char own[64];
    struct stat s;
    unsigned uid = (unsigned)getuid();
    snprintf(own, sizeof own, "/run/user/%u", uid);
    if (folder)
        snprintf(out, size, "%s/npu-xdna-%s.lock", folder, name);
    else if (!lstat(own, &s) && S_ISDIR(s.st_mode) && s.st_uid == uid && !access(own, W_OK))
        snprintf(out, size, "%s/npu-xdna-%s.lock", own, name);
    else
        snprintf(out, size, "/tmp/npu-xdna-%u-%s.lock", uid, name);
}

static npu_status refuse(npu_error *err, const char *path, const char *why) {
    return npu_fail(err, NPU_REFUSED, "xdna.lock", "%s: %s", path, why);
}

/* In /tmp anybody may have put something of that name there: no links are followed, and only our own file will do. */
static npu_status open_file(const char *path, int *fd, npu_error *err) {
    struct stat s;
    *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (*fd < 0) return refuse(err, path, strerror(errno));
    if (!fstat(*fd, &s) && S_ISREG(s.st_mode) && s.st_uid == getuid() && s.st_nlink == 1) return NPU_OK;
    close(*fd);
    *fd = -1;
    return refuse(err, path, "is not a plain file of this user");
}

static long holder(int fd) {
    char text[32] = "";
    return pread(fd, text, sizeof text - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
}

/* For the message of those who wait; nothing depends on it. */
static void sign(int fd) {
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (!ftruncate(fd, 0) && pwrite(fd, text, (size_t)n, 0) != n) errno = 0;
}

npu_status npu__xdna_lock(const npu_logger *logger, const char *folder, const char *name, bool no_wait, int *fd,
                          npu_error *err) {
    char path[256];
    lock_path(folder, name, path, sizeof path);
    NPU_TRY(open_file(path, fd, err));
    npu_status status = NPU_OK;
    if (flock(*fd, LOCK_EX | LOCK_NB)) {
        long pid = holder(*fd);
        if (errno != EWOULDBLOCK) {
            status = refuse(err, path, strerror(errno));
        } else if (no_wait) {
            status = npu_fail(err, NPU_REFUSED, "xdna.busy", "the NPU %s is in use by process %ld (lock %s)", name, pid,
                              path);
        } else {
            npu_log(logger, NPU_LOG_WARN, "waiting for the NPU %s, in use by process %ld (lock %s)", name, pid, path);
            if (flock(*fd, LOCK_EX))
                status = npu_fail(err, NPU_CANCELLED, "xdna.busy", "waiting for the NPU %s was interrupted", name);
        }
    }
    if (status == NPU_OK) {
        sign(*fd);
        return NPU_OK;
    }
    close(*fd);
    *fd = -1;
    return status;
}
