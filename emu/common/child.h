// The process of an emulated device: how it is started. On the host's side only.
#ifndef EMU_COMMON_CHILD_H
#define EMU_COMMON_CHILD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// A duplicate of |fd| for emu_child_start, closed at exec; -1 when there is none. It lies above all descriptors that a
// child gets, so that one dup2 can't overwrite the source of the next.
int emu_child_file(int fd);

// Starts |program|, a path or, when |find|, a name to look for along PATH. Descriptor 0 is /dev/null, 1 and 2 are this
// process', |files| are 3 and up; whatever else is open stays here. No signal is blocked; the
// process is a group of its own. 0 or an errno.
int emu_child_start(const char *program, bool find, char *const argv[], const int *files, int n, pid_t *pid);

// The path of program |name| beside the library that has |symbol|.
void emu_child_beside(const void *symbol, const char *name, char *path, size_t bytes);

// A thread that gets none of the application's signals; 0 or an errno.
int emu_child_thread(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
