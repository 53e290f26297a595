/* loaded.h - the library as a client that is not linked with it finds it: by dlopen. */
#ifndef LOADED_H
#define LOADED_H

#include "check.h"

#include <dlfcn.h>

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises that this works. */
#define LOOK_UP(handle, name, function)                                                                               \
    do {                                                                                                              \
        void *found = dlsym(handle, name);                                                                            \
        if (found == NULL) CHECK_FAIL("%s", dlerror());                                                               \
        memcpy(&(function), &found, sizeof found);                                                                    \
    } while (0)

static inline void *load_library(int flags) {
    void *handle = dlopen(AOE_LIBRARY, flags);
    if (handle == NULL) CHECK_FAIL("%s", dlerror());
    return handle;
}

#endif
