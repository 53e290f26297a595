#include "memory.h"

#include <cerrno>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace drop_in {

bool is_readable(const void *address) {
    if (reinterpret_cast<uintptr_t>(address) % sizeof(uint64_t) != 0) return false;
    // The system call reads a signal mask of eight bytes there before it finds that there is nothing to be done with
    // it. It is the one that every sandbox allows.
    const int nothing_to_do = -1;
    const int error = errno;
    const long answer = syscall(SYS_rt_sigprocmask, nothing_to_do, address, nullptr, sizeof(uint64_t));
    const bool is_bad = answer != 0 && errno == EFAULT;
    errno = error;
    return address != nullptr && !is_bad;
}

// What lies beside an object may be read here: nobody knows yet what object it is.
__attribute__((no_sanitize("address"))) bool peek(const void *address, void *copy, size_t words) {
    typedef uint64_t __attribute__((may_alias)) Word;
    const volatile Word *const from = static_cast<const volatile Word *>(address);
    Word *const to = static_cast<Word *>(copy);
    const void *const last = static_cast<const char *>(address) + (words - 1) * sizeof(Word);
    if (!is_readable(address) || !is_readable(last)) return false;
    for (size_t i = 0; i < words; i++) to[i] = from[i];
    return true;
}

}  // namespace drop_in
