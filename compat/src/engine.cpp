#include "engine.h"

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

namespace drop_in {

namespace {

const char kFile[] = "libaoe_tuning_engine.so";

// Where this library lies, found out when it is loaded: a relative path would mean another place once the client
// has changed its directory.
char own_path[PATH_MAX];

__attribute__((constructor)) void find_own_path() {
    Dl_info info;
    if (dladdr(own_path, &info) == 0 || realpath(info.dli_fname, own_path) == nullptr) own_path[0] = '\0';
}

const AoeApi *load() {
    const std::string own(own_path);
    const std::string path = own.substr(0, own.rfind('/') + 1) + kFile;
    void *handle = path[0] == '/' ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (handle == nullptr) {
        const char *reason = path[0] == '/' ? dlerror() : "libaoe_tuning.so cannot find out where it lies";
        throw Failure{AOE_FAILURE, std::string(kFile) + " must lie beside libaoe_tuning.so: " + reason};
    }
    const auto get_api = reinterpret_cast<const AoeApi *(*)(uint32_t)>(dlsym(handle, "AoeGetApi"));
    const AoeApi *api = get_api == nullptr ? nullptr : get_api(AOE_API_VERSION);
    if (api == nullptr || api->struct_size < sizeof(AoeApi)) {
        dlclose(handle);
        throw Failure{AOE_FAILURE, path + " is of another version than libaoe_tuning.so; install both from one libaoe"};
    }
    api->SetLogCallback(relay_message, nullptr);
    return api;
}

}  // namespace

const AoeApi &engine() {
    // After a failure the next call tries again.
    static const AoeApi *const api = load();
    return *api;
}

void require(AoeStatus status) {
    if (status != AOE_SUCCESS) throw Failure{status, engine().GetLastError()};
}

}  // namespace drop_in
