// What headers of GCC 11 and later ask of libraries that systems with glibc 2.28 do not have. Wheels of Python are linked
// with it (scripts/drop-in), and nothing else: there the libraries' own are right.
#include <new>

// glibc 2.32. Zero, "there may be threads": std::shared_ptr counts atomically, as it always did before.
extern "C" __attribute__((visibility("hidden"))) char __libc_single_threaded;
char __libc_single_threaded = 0;

// libstdc++ of GCC 11.
namespace std {
__attribute__((visibility("hidden"))) void __throw_bad_array_new_length();
void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std
