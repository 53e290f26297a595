// memory.h - looking at addresses that may be none.
#ifndef AOE_COMPAT_MEMORY_H
#define AOE_COMPAT_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace drop_in {

// Whether the eight bytes at an address can be read, and an integer can be there.
bool is_readable(const void *address);

// Copies a part of memory that may not be there, of a page's length at most. False where it cannot be read.
bool peek(const void *address, void *copy, size_t words);

template <typename T>
bool peek(const void *address, T &copy) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0, "whole words");
    return peek(address, &copy, sizeof(T) / sizeof(uint64_t));
}

}  // namespace drop_in

#endif
