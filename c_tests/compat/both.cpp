// libaoe and the drop-in library in one process. They export the same ten names with different parameters, and each
// must reach its own functions and state, whichever comes first and whoever sees its symbols.
#include "client.h"

// libaoe's C interface as far as it is used here; its header declares CANN's ten names, which this file knows as
// CANN's clients do.
namespace libaoe {

struct Option {
    const char *key;
    const char *value;
};

struct Functions {
    int32_t (*initialize)(const Option *, size_t);
    int32_t (*finalize)();
    int32_t (*create_session)(uint64_t *);
    int32_t (*set_tuning_graph)(uint64_t, const void *);
    int32_t (*tuning_graph)(uint64_t, const Option *, size_t);
    int32_t (*graph_load_file)(const char *, const Option *, size_t, void **);
    void (*graph_destroy)(void *);
    int32_t (*set_log_callback)(void (*)(int32_t, const char *, void *), void *);
    const void *(*get_api)(uint32_t);
};

static Functions find(void *handle) {
    Functions found;
    const auto look_up = [handle](const char *name, auto &function) {
        void *const address = dlsym(handle, name);
        if (address == nullptr) CHECK_FAIL("%s", dlerror());
        memcpy(&function, &address, sizeof address);
    };
    look_up("AoeInitialize", found.initialize);
    look_up("AoeFinalize", found.finalize);
    look_up("AoeCreateSession", found.create_session);
    look_up("AoeSetTuningGraph", found.set_tuning_graph);
    look_up("AoeTuningGraph", found.tuning_graph);
    look_up("AoeGraphLoadFile", found.graph_load_file);
    look_up("AoeGraphDestroy", found.graph_destroy);
    look_up("AoeSetLogCallback", found.set_log_callback);
    look_up("AoeGetApi", found.get_api);
    return found;
}

}  // namespace libaoe

static int messages;
static void count_message(int32_t, const char *, void *) { messages++; }

static void *open_libaoe(int flags) {
    void *handle = dlopen("libaoe.so.0", flags);
    if (handle == nullptr) CHECK_FAIL("%s", dlerror());
    return handle;
}

// Tunes through both while both are initialised, each with options of its own.
static void use_both(const libaoe::Functions &own, const Functions &drop_in) {
    const libaoe::Option options[] = {{"job_type", "2"}, {"soc_version", "Ascend910B4"}, {"max_tuning_count", "8"}};
    void *graph = nullptr;
    uint64_t own_session = 0, session = 0;
    CHECK(own.initialize(options, 3) == AOE_SUCCESS);
    CHECK(own.set_log_callback(count_message, nullptr) == AOE_SUCCESS);
    EXPECT(AOE_SUCCESS, drop_in.initialize({{"job_type", "2"}, {"nobody_knows", "this"}}));
    CHECK(messages == 0);
    CHECK(printed().find("nobody_knows") != std::string::npos);
    CHECK(own.create_session(&own_session) == AOE_SUCCESS);
    EXPECT(AOE_SUCCESS, drop_in.create_session(session));
    CHECK(own.graph_load_file(AOE_NETWORKS "/product.air", nullptr, 0, &graph) == AOE_SUCCESS);
    CHECK(own.set_tuning_graph(own_session, graph) == AOE_SUCCESS);
    own.graph_destroy(graph);
    EXPECT(AOE_SUCCESS, drop_in.set_tuning_graph(session, product()));
    CHECK(own.tuning_graph(own_session, nullptr, 0) == AOE_SUCCESS);
    EXPECT(AOE_SUCCESS, drop_in.tuning_graph(session, {}));
    CHECK(result_files_in(".").size() == 2);
    EXPECT(AOE_SUCCESS, drop_in.finalize());
    CHECK(own.create_session(&own_session) == AOE_SUCCESS);
    CHECK(own.finalize() == AOE_SUCCESS);
}

// The functions that the table of libaoe names are libaoe's, not those of the drop-in library.
static void check_table(void *own) {
    const libaoe::Functions found = libaoe::find(own);
    const auto table = static_cast<void *const *>(found.get_api(1));
    CHECK(table != nullptr);
    int own_functions = 0;
    for (size_t i = 1; i < reinterpret_cast<size_t>(table[0]) / sizeof *table; i++) {
        Dl_info info = {};
        CHECK(dladdr(table[i], &info) != 0);
        own_functions += strstr(info.dli_fname, "libaoe.so") != nullptr;
    }
    CHECK(own_functions > 40);
    CHECK(static_cast<size_t>(own_functions) == reinterpret_cast<size_t>(table[0]) / sizeof *table - 1);
}

static void libaoe_first(int flags) {
    void *own = open_libaoe(RTLD_NOW | flags);
    Functions drop_in;
    setenv("AOE_TEST_LOAD", flags == RTLD_GLOBAL ? "global" : "lazy", 1);
    const Library library(RTLD_NOW);
    drop_in.find_all(library);
    check_table(own);
    use_both(libaoe::find(own), drop_in);
    CHECK(dlclose(own) == 0);
}

static void drop_in_first(int flags) {
    Functions drop_in;
    setenv("AOE_TEST_LOAD", flags == RTLD_GLOBAL ? "global" : "lazy", 1);
    const Library library(RTLD_NOW);
    drop_in.find_all(library);
    EXPECT(AOE_SUCCESS, drop_in.initialize({{"job_type", "2"}}));
    CHECK(dlopen("libaoe.so.0", RTLD_NOW | RTLD_NOLOAD) == nullptr); // what it loads has another name
    EXPECT(AOE_SUCCESS, drop_in.finalize());
    void *own = open_libaoe(RTLD_NOW | flags);
    check_table(own);
    use_both(libaoe::find(own), drop_in);
    CHECK(dlclose(own) == 0);
}

TEST(libaoe_first_both_global) { libaoe_first(RTLD_GLOBAL); }
TEST(libaoe_first_both_local) { libaoe_first(RTLD_LOCAL); }
TEST(drop_in_first_both_global) { drop_in_first(RTLD_GLOBAL); }
TEST(drop_in_first_both_local) { drop_in_first(RTLD_LOCAL); }
