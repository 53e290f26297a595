#include "ge.h"

#include "failure.h"

#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <vector>

namespace drop_in {

namespace {

// Names of the libraries that are loaded, under which the linker finds them again. They are gathered first:
// nothing may be loaded or looked up while the linker's list is walked.
std::vector<std::string> loaded_libraries() {
    std::vector<std::string> names;
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *payload) {
            if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
                try {
                    static_cast<std::vector<std::string> *>(payload)->emplace_back(info->dlpi_name);
                } catch (const std::bad_alloc &) {
                    return 1;
                }
            }
            return 0;
        },
        &names);
    return names;
}

// A handle of a loaded library that has the symbol, or null.
void *open_if_it_has(const std::string &name, const char *symbol) {
    void *const library = name.empty() ? nullptr : dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr || dlsym(library, symbol) != nullptr) return library;
    dlclose(library);
    return nullptr;
}

// Finds a loaded library that has the symbol; null where none has. Asking hundreds of libraries takes a millisecond,
// so that the one that had a symbol last is asked first.
void *search(const char *symbol) {
    static std::mutex mutex;
    static std::string &last = *new std::string;
    std::string name;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        name = last;
    }
    if (void *const library = open_if_it_has(name, symbol)) return library;
    for (const std::string &loaded : loaded_libraries()) {
        if (void *const library = open_if_it_has(loaded, symbol)) {
            const std::lock_guard<std::mutex> lock(mutex);
            last = loaded;
            return library;
        }
    }
    return nullptr;
}

}  // namespace

Ge::Ge(std::initializer_list<GeFunction> any) : library_(nullptr) {
    for (const GeFunction &function : any) {
        if (dlsym(RTLD_DEFAULT, function.symbol) != nullptr) return;
        library_ = search(function.symbol);
        if (library_ != nullptr) return;
    }
    fail(any);
}

Ge::~Ge() {
    if (library_ != nullptr) dlclose(library_);
}

void *Ge::look_up(const GeFunction &function) const {
    return dlsym(library_ == nullptr ? RTLD_DEFAULT : library_, function.symbol);
}

void Ge::fail(std::initializer_list<GeFunction> any) {
    std::string names;
    for (const GeFunction &function : any) {
        names += (names.empty() ? "" : " or ") + std::string(function.name) + " (" + function.symbol + ")";
    }
    throw Failure{AOE_ERROR_INVALID_GRAPH,
                  "no library of this process has " + names + ", which it takes to read what the client passed"};
}

}  // namespace drop_in
