/* Stands before the C library's calls that change files: at the call whose number STEP has, the process is killed, or,
   where ERROR says so, that call fails. With FLOCK=no there are no locks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int count;

/* Whether the call is to fail. */
static int step(void) {
    const char *at = getenv("STEP"), *error = getenv("ERROR");
    if (at == NULL) return 0;
    int reached = ++count == atoi(at);
    if (reached && error == NULL) kill(getpid(), SIGKILL);
    if (reached) errno = atoi(error);
    return reached;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int rename(const char *from, const char *to) { return step() ? -1 : REAL(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { return step() ? -1 : REAL(mkdir)(path, mode); }
int fsync(int file) { return step() ? -1 : REAL(fsync)(file); }

/* What clears away may go on after an error, but not after death. */
static void clears(void) {
    if (getenv("ERROR") == NULL) step();
}
int rmdir(const char *path) { clears(); return REAL(rmdir)(path); }
int unlink(const char *path) { clears(); return REAL(unlink)(path); }
int unlinkat(int directory, const char *path, int flags) { clears(); return REAL(unlinkat)(directory, path, flags); }

ssize_t write(int file, const void *bytes, size_t size) {
    return file > 2 && step() ? -1 : REAL(write)(file, bytes, size);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return flags & O_CREAT && step() ? -1 : REAL(open64)(path, flags, mode);
}

int flock(int file, int operation) {
    const char *locks = getenv("FLOCK");
    if (locks != NULL && strcmp(locks, "no") == 0) {
        errno = ENOLCK;
        return -1;
    }
    return REAL(flock)(file, operation);
}
