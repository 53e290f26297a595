/* Stands before the C library and the kernel: the call whose number FAULT_AT has, of the class that FAULT_CLASS names, does
   what FAULT_DOES says. Classes: `malloc`, and of system calls `open`, `read`, `write`, `sync`, `rename`, `truncate`, `mkdir`,
   `remove`, `lock`, `stat`, `list`. What it does: the number of an error, or `short` (a read or write of half the bytes). At
   FAULT_AT=0, or without it, nothing fails; with FAULT_BELOW, a folder, every call of the class on an open file below it does. At the
   end FAULT_COUNT, a file, gets how many calls of each class there were.

   System calls are caught by a filter of the kernel (seccomp), which raises SIGSYS, so that it does not matter through which
   library a program makes them; standard input, output and error are left alone. FAULT_SIZE (0) is the smallest allocation that counts.
   A program that was started with FAULT_CLASS=open chooses its faults itself, with `faults_set`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum class { MALLOC, OPEN, READ, WRITE, SYNC, RENAME, TRUNCATE, MKDIR, REMOVE, LOCK, STAT, LIST, CLASSES };
static const char *const names[CLASSES] = {"malloc",   "open",  "read",   "write", "sync", "rename",
                                           "truncate", "mkdir", "remove", "lock",  "stat", "list"};
static volatile int armed;
static int of_class = CLASSES, is_short, error;
static long at;
static size_t smallest;
static const char *below;
static long counts[CLASSES];

/* Whether this call is the one. */
static int is_due(int class) {
    if (!armed) return 0;
    long number = __atomic_add_fetch(&counts[class], 1, __ATOMIC_RELAXED);
    return class == of_class && number == at;
}

/* The one place where system calls pass the filter. */
long faults_syscall(long number, long a, long b, long c, long d, long e, long f);
extern const char faults_passed[];
#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
__asm__(".text\n.globl faults_syscall\n.type faults_syscall, @function\nfaults_syscall:\n"
        "mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\nmov %r8, %r10\nmov %r9, %r8\nmov 8(%rsp), %r9\n"
        "syscall\n.globl faults_passed\n.hidden faults_passed\nfaults_passed:\nret\n.hidden faults_syscall\n");
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#define ARGUMENT(context, i) ((context)->uc_mcontext.gregs[(const int[]){REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9}[i]])
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
__asm__(".text\n.globl faults_syscall\n.type faults_syscall, %function\nfaults_syscall:\n"
        "mov x8, x0\nmov x0, x1\nmov x1, x2\nmov x2, x3\nmov x3, x4\nmov x4, x5\nmov x5, x6\n"
        "svc #0\n.globl faults_passed\n.hidden faults_passed\nfaults_passed:\nret\n.hidden faults_syscall\n");
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#define ARGUMENT(context, i) ((context)->uc_mcontext.regs[i])
#else
#error "for x86-64 and aarch64"
#endif

/* The class of a system call, and which of its arguments says how many bytes (-1: none). */
static const struct { int number, class, bytes; } calls[] = {
    {__NR_openat, OPEN, -1},     {__NR_read, READ, 2},           {__NR_pread64, READ, 2},     {__NR_write, WRITE, 2},
    {__NR_pwrite64, WRITE, 2},   {__NR_writev, WRITE, -1},       {__NR_fsync, SYNC, -1},      {__NR_fdatasync, SYNC, -1},
    {__NR_renameat, RENAME, -1}, {__NR_renameat2, RENAME, -1},   {__NR_linkat, RENAME, -1},   {__NR_ftruncate, TRUNCATE, -1},
    {__NR_mkdirat, MKDIR, -1},   {__NR_unlinkat, REMOVE, -1},    {__NR_flock, LOCK, -1},      {__NR_statx, STAT, -1},
    {__NR_getdents64, LIST, -1},
#if defined(__x86_64__)
    {__NR_open, OPEN, -1},       {__NR_rename, RENAME, -1},      {__NR_link, RENAME, -1},     {__NR_mkdir, MKDIR, -1},
    {__NR_unlink, REMOVE, -1},   {__NR_rmdir, REMOVE, -1},
#endif
};
#define CALLS (sizeof calls / sizeof *calls)

/* Whether an open file lies below FAULT_BELOW. */
static int is_below(long file) {
    char link[32] = "/proc/self/fd/", path[4096], digits[24];
    int count = 0;
    do {
        digits[count++] = (char)('0' + file % 10);
        file /= 10;
    } while (file > 0);
    for (int i = 0; i < count; i++) link[14 + i] = digits[count - 1 - i];
    long length = faults_syscall(__NR_readlinkat, AT_FDCWD, (long)link, (long)path, sizeof path, 0, 0);
    size_t folder = strlen(below);
    return length > (long)folder && strncmp(path, below, folder) == 0 && path[folder] == '/';
}

static void caught(int signal, siginfo_t *info, void *opaque) {
    (void)signal;
    ucontext_t *context = opaque;
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = (long)ARGUMENT(context, i);
    size_t call = 0;
    while (call < CALLS && calls[call].number != info->si_syscall) call++;
    int is_stream = call < CALLS && (calls[call].class == READ || calls[call].class == WRITE) && a[0] <= 2;
    int is_full = call < CALLS && !is_stream && below != NULL && calls[call].class == of_class && is_below(a[0]);
    if (is_full || (call < CALLS && !is_stream && is_due(calls[call].class))) {
        if (!is_short) {
            RESULT(context) = -error;
            return;
        }
        if (calls[call].bytes >= 0 && a[calls[call].bytes] > 1) a[calls[call].bytes] /= 2;
    }
    RESULT(context) = faults_syscall(info->si_syscall, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void stand_before_the_kernel(void) {
    struct sock_filter filter[CALLS + 8];
    size_t n = 0;
    uint64_t passed = (uint64_t)(uintptr_t)faults_passed;
    const uint32_t low = (uint32_t)passed, high = (uint32_t)(passed >> 32);
#define FIELD(name) (offsetof(struct seccomp_data, name))
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(instruction_pointer));
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low, 0, 2);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(instruction_pointer) + 4);
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, CALLS + 1, 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(nr));
    for (size_t call = 0; call < CALLS; call++) {
        uint8_t to_trap = (uint8_t)(CALLS - call);
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[call].number, to_trap, 0);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {(unsigned short)n, filter};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = caught;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("FAULTS CANNOT BE SET");
        _exit(99);
    }
}

__attribute__((constructor)) static void arm(void) {
    const char *class = getenv("FAULT_CLASS"), *does = getenv("FAULT_DOES"), *number = getenv("FAULT_AT");
    const char *size = getenv("FAULT_SIZE");
    for (int i = 0; i < CLASSES; i++) {
        if (class != NULL && strcmp(class, names[i]) == 0) of_class = i;
    }
    at = number == NULL ? 0 : atol(number);
    smallest = size == NULL ? 0 : (size_t)atol(size);
    below = getenv("FAULT_BELOW");
    is_short = does != NULL && strcmp(does, "short") == 0;
    error = does == NULL ? ENOMEM : atoi(does);
    /* A filter makes every call slow; allocations need none. */
    if (of_class != MALLOC) stand_before_the_kernel();
    armed = 1;
}

__attribute__((destructor)) static void tell(void) {
    armed = 0;
    const char *place = getenv("FAULT_COUNT");
    if (place == NULL) return;
    int file = open(place, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < CLASSES; i++) dprintf(file, "%s %ld\n", names[i], counts[i]);
    close(file);
}

/* From now on the call with this number does that, counted from here; 0: none. */
void faults_set(const char *class, const char *does, long number);
void faults_set(const char *class, const char *does, long number) {
    armed = 0;
    of_class = CLASSES;
    for (int i = 0; i < CLASSES; i++) {
        counts[i] = 0;
        if (strcmp(class, names[i]) == 0) of_class = i;
    }
    at = number;
    is_short = strcmp(does, "short") == 0;
    error = atoi(does);
    armed = 1;
}

/* How many calls of this class there were since then. */
long faults_counted(const char *class);
long faults_counted(const char *class) {
    for (int i = 0; i < CLASSES; i++) {
        if (strcmp(class, names[i]) == 0) return counts[i];
    }
    return -1;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int fails(size_t size) {
    if (size < smallest || !is_due(MALLOC)) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(count * size) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails(size) ? NULL : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return fails(size) ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *got = fails(size) ? NULL : __libc_memalign(alignment, size);
    if (got != NULL) *memory = got;
    return got != NULL ? 0 : ENOMEM;
}
