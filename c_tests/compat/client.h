// client.h - what the replays of CANN's clients share: how they load the tuner and look up its functions, with CANN's
// parameter types. The order of calls, the options and the checks are each client's own.
//
// A replay runs as a program, which has GE in the global scope, and as a module of the program `host`, which loads it
// and with it GE with RTLD_LOCAL, as Python does with its extensions. The environment variable AOE_TEST_LOAD takes the
// place of the flags that the client itself loads the tuner with.
#ifndef CLIENT_H
#define CLIENT_H

#include "../support/case.h"
#include "../support/json.h"
#include "ge/ge.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using Options = std::map<ge::AscendString, ge::AscendString>;
using Tensors = std::vector<ge::Tensor>;

enum Status : int32_t {
    AOE_FAILURE = -1,
    AOE_SUCCESS = 0,
    AOE_ERROR_INVALID_PARAM = 2,
    AOE_ERROR_UNINITIALIZED = 3,
    AOE_ERROR_REPEAT_INITIALIZE = 4,
    AOE_ERROR_INVALID_SESSION = 5,
    AOE_ERROR_BUSY = 6,
    AOE_ERROR_INVALID_GRAPH = 7,
    AOE_ERROR_NON_OPTIMIZE_GRAPH = 8,
    AOE_ERROR_DYNAMIC_GRAPH = 9,
    AOE_ERROR_INVALID_OPTION_ATTR = 11,
    AOE_ERROR_NON_OPTIMIZABLE_OBJECT = 12, // CANN 5.1 to 6.3.RC1 says it for 8
    AOE_ERROR_FORKED = 1001,
    AOE_ERROR_UNSUPPORTED = 1005
};

// From here on the tuner may print; any thread may say so.
inline void allow_noise() { __atomic_store_n(&check_noise_allowed, 1, __ATOMIC_RELAXED); }

// What the tuner has printed so far.
inline std::string printed() {
    fflush(nullptr);
    allow_noise();
    char *text = check_read_file((std::string(check_directory) + "/stderr.caught").c_str(), nullptr);
    const std::string copy(text == nullptr ? "" : text);
    free(text);
    return copy;
}

// The call answers exactly this status. A failure is told on stderr; otherwise the tuner keeps silent.
#define EXPECT(status, call)                                                                                          \
    do {                                                                                                              \
        const int32_t got = (call);                                                                                   \
        if (got != AOE_SUCCESS) allow_noise();                                                                        \
        if (got != (status)) CHECK_FAIL("%s is %d, not %s: %s", #call, (int)got, #status, printed().c_str());         \
    } while (0)

// It answers this status, and a line that it printed names the culprit.
#define EXPECT_NAMED(status, culprit, call)                                                                           \
    do {                                                                                                              \
        EXPECT(status, call);                                                                                         \
        if (printed().find(culprit) == std::string::npos)                                                             \
            CHECK_FAIL("%s: \"%s\" does not name \"%s\"", #call, printed().c_str(), culprit);                         \
    } while (0)

// The tuner, opened as clients do: by its name, found in a folder of LD_LIBRARY_PATH.
class Library {
  public:
    explicit Library(int flags) : handle_(dlopen("libaoe_tuning.so", flags_of_test(flags))) {
        if (handle_ == nullptr) CHECK_FAIL("%s", dlerror());
    }
    ~Library() { CHECK(dlclose(handle_) == 0); }
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;

    // Looks a function up; a client takes none for an error.
    template <typename Function>
    void find(const char *name, Function *&function) const {
        void *const address = dlsym(handle_, name);
        if (address == nullptr) CHECK_FAIL("%s", dlerror());
        memcpy(&function, &address, sizeof address);
    }

  private:
    static int flags_of_test(int flags) {
        const char *load = getenv("AOE_TEST_LOAD");
        const std::string name(load == nullptr ? "" : load);
        if (name == "now") return RTLD_NOW;
        if (name == "lazy") return RTLD_LAZY | RTLD_LOCAL;
        if (name == "global") return RTLD_NOW | RTLD_GLOBAL;
        if (name == "deepbind") return RTLD_NOW | RTLD_DEEPBIND;
        CHECK(name.empty());
        return flags;
    }

    void *handle_;
};

// The functions as clients since CANN 6.3.RC2 know them.
struct Functions {
    int32_t (*initialize)(const Options &) = nullptr;
    int32_t (*finalize)() = nullptr;
    int32_t (*create_session)(uint64_t &) = nullptr;
    int32_t (*destroy_session)(uint64_t) = nullptr;
    int32_t (*set_ge_session)(uint64_t, ge::Session *) = nullptr;
    int32_t (*set_tuning_graph)(uint64_t, const ge::Graph &) = nullptr;
    int32_t (*tuning_graph)(uint64_t, const Options &) = nullptr;
    int32_t (*set_tuning_graph_input)(uint64_t, const Tensors &) = nullptr;
    int32_t (*set_depend_graphs)(uint64_t, const std::vector<ge::Graph> &) = nullptr;
    int32_t (*set_depend_graphs_inputs)(uint64_t, const std::vector<Tensors> &) = nullptr;

    // The seven that MindSpore looks up.
    void find_seven(const Library &library) {
        library.find("AoeInitialize", initialize);
        library.find("AoeFinalize", finalize);
        library.find("AoeCreateSession", create_session);
        library.find("AoeDestroySession", destroy_session);
        library.find("AoeSetGeSession", set_ge_session);
        library.find("AoeSetTuningGraph", set_tuning_graph);
        library.find("AoeTuningGraph", tuning_graph);
    }

    void find_all(const Library &library) {
        find_seven(library);
        library.find("AoeSetTuningGraphInput", set_tuning_graph_input);
        library.find("AoeSetDependGraphs", set_depend_graphs);
        library.find("AoeSetDependGraphsInputs", set_depend_graphs_inputs);
    }
};

// All functions of the library, which is loaded once and stays.
inline const Functions &tuner() {
    static const Library library(RTLD_NOW);
    static const Functions aoe = [] {
        Functions found;
        found.find_all(library);
        return found;
    }();
    return aoe;
}

// A network that there is something to tune in, and others; see networks.c.
inline ge::Graph product() { return ge::Graph("product", AOE_NETWORKS "/product.air"); }
inline ge::Graph slashes() { return ge::Graph("scope/step:1/net", AOE_NETWORKS "/slashes.air"); }
inline ge::Graph nothing() { return ge::Graph("nothing", AOE_NETWORKS "/nothing.air"); }
inline ge::Graph chain() { return ge::Graph("chain", AOE_NETWORKS "/chain.air"); }
inline ge::Graph training() { return ge::Graph("training", AOE_NETWORKS "/training.air"); }
inline ge::Graph open_batch() { return ge::Graph("open", AOE_NETWORKS "/open.air"); }

// The input of product(), as the client has it for its first step: its elements lie in the device's memory, which
// nobody but the device may read.
inline Tensors first_step(int64_t rows = 256) {
    const auto in_device = reinterpret_cast<const uint8_t *>(0x12c000000000);
    const ge::TensorDesc desc(ge::Shape({rows, 512}), ge::FORMAT_ND, ge::DT_FLOAT16);
    return {ge::Tensor(desc, in_device, static_cast<size_t>(rows) * 512 * 2)};
}

// The texts of a directory's files whose names begin so; those of the result files of operator tunings otherwise.
inline std::vector<std::string> result_files_in(const char *path, const std::string &prefix = "aoe_result_opat_") {
    std::vector<std::string> texts;
    DIR *directory = opendir(path);
    if (directory == nullptr) CHECK_FAIL("%s: %s", path, strerror(errno));
    while (const dirent *entry = readdir(directory)) {
        if (strncmp(entry->d_name, prefix.c_str(), prefix.size()) != 0) continue;
        std::ifstream file(std::string(path) + "/" + entry->d_name);
        texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    closedir(directory);
    return texts;
}

// Tunings of a kind, of operators unless it is said, whose results are in a directory, which has one file for all of
// them.
inline int results_in(const char *path, const std::string &kind = "opat") {
    const std::vector<std::string> texts = result_files_in(path, "aoe_result_" + kind + "_");
    CHECK(texts.size() == 1 && json_valid(texts[0].c_str()));
    int count = 0;
    for (size_t at = 0; (at = texts[0].find("\n    \"report_2", at)) != std::string::npos; at++) count++;
    return count;
}

#endif
