// What the drop-in library adds to libaoe: the calls of a tuning through each, but with AoeTuningGraph for a session that
// was given no graph, so that the way to libaoe and back is timed and no tuning. Prints medians; nothing here passes or
// fails. scripts/bench runs it as a program, where GE is in the global scope, and as a module of `host`, where it is not:
//   bench LIBAOE.so LIBAOE_TUNING.so
#include "ge/ge.h"

#include <aoe.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <string>
#include <vector>

using Options = std::map<ge::AscendString, ge::AscendString>;
using Tensors = std::vector<ge::Tensor>;

namespace {

const char kAir[] = "nothing.air";
// What TFAdapter sends.
const AoeOption kGlobal[] = {{"work_path", "./"}, {"job_type", "2"}, {"ge.resourceConfigPath", ""}};
const AoeOption kTuning[] = {{"ge.recompute", ""}, {"ge.aoe_config_file", ""}};

[[noreturn]] void stop(const char *what) {
    std::fprintf(stderr, "%s failed\n", what);
    std::exit(1);
}

#define OK(call)                                                                                                      \
    do {                                                                                                              \
        const int32_t status = (call);                                                                                \
        if (status != AOE_SUCCESS && status != AOE_ERROR_NON_OPTIMIZE_GRAPH) stop(#call);                             \
    } while (0)

void *open_library(const char *path) {
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) stop(dlerror());
    return library;
}

template <typename Function>
void find(void *library, const char *name, Function &function) {
    void *const address = dlsym(library, name);
    if (address == nullptr) stop(name);
    std::memcpy(&function, &address, sizeof address);
}

// The median of many runs, in microseconds.
double time_of(const std::function<void()> &run) {
    enum { kRuns = 2001 };
    std::vector<double> times;
    for (int i = 0; i < kRuns; i++) {
        const auto start = std::chrono::steady_clock::now();
        run();
        times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2];
}

// An input that is the output, as AIR.
void write_graph(const AoeApi &aoe) {
    const int64_t dims[] = {4};
    const AoeTensor x = {dims, 1, AOE_DT_FLOAT16, AOE_FORMAT_ND, nullptr, 0, nullptr};
    AoeGraph *graph = nullptr;
    AoeNodeId input = 0;
    OK(aoe.GraphCreate("nothing", &graph));
    OK(aoe.GraphAddInput(graph, "x", &x, &input));
    OK(aoe.GraphAddOutput(graph, input, 0));
    OK(aoe.GraphSaveFile(graph, kAir));
    aoe.GraphDestroy(graph);
}

double time_libaoe(const AoeApi &aoe) {
    const ge::Graph graph("nothing", kAir);
    const int64_t dims[] = {4};
    const AoeTensor input = {dims, 1, AOE_DT_FLOAT16, AOE_FORMAT_ND, nullptr, 0, nullptr};
    uint64_t ge_session = 42;
    OK(aoe.Initialize(kGlobal, 3));
    AoeSessionId empty = 0;
    OK(aoe.CreateSession(&empty));
    const double time = time_of([&] {
        AoeSessionId session = 0;
        AoeGraph *read = nullptr;
        ge::GraphBuffer buffer;
        OK(aoe.CreateSession(&session));
        OK(aoe.SetGeSession(session, &ge_session));
        OK(static_cast<int32_t>(graph.SaveToMem(buffer)));
        OK(aoe.GraphLoadMemory(buffer.GetData(), buffer.GetSize(), nullptr, 0, &read));
        OK(aoe.SetTuningGraph(session, read));
        aoe.GraphDestroy(read);
        OK(aoe.SetTuningGraphInput(session, &input, 1));
        OK(aoe.TuningGraph(empty, kTuning, 2));
        OK(aoe.DestroySession(session));
    });
    OK(aoe.DestroySession(empty));
    OK(aoe.Finalize());
    return time;
}

double time_drop_in(void *library) {
    int32_t (*initialize)(const Options &) = nullptr;
    int32_t (*finalize)() = nullptr;
    int32_t (*create_session)(uint64_t &) = nullptr;
    int32_t (*destroy_session)(uint64_t) = nullptr;
    int32_t (*set_ge_session)(uint64_t, ge::Session *) = nullptr;
    int32_t (*set_tuning_graph)(uint64_t, const ge::Graph &) = nullptr;
    int32_t (*set_tuning_graph_input)(uint64_t, const Tensors &) = nullptr;
    int32_t (*tuning_graph)(uint64_t, const Options &) = nullptr;
    find(library, "AoeInitialize", initialize);
    find(library, "AoeFinalize", finalize);
    find(library, "AoeCreateSession", create_session);
    find(library, "AoeDestroySession", destroy_session);
    find(library, "AoeSetGeSession", set_ge_session);
    find(library, "AoeSetTuningGraph", set_tuning_graph);
    find(library, "AoeSetTuningGraphInput", set_tuning_graph_input);
    find(library, "AoeTuningGraph", tuning_graph);
    const ge::Graph graph("nothing", kAir);
    const Tensors inputs = {ge::Tensor(ge::TensorDesc(ge::Shape({4}), ge::FORMAT_ND, ge::DT_FLOAT16), nullptr, 0)};
    Options global, tuning;
    for (const AoeOption &option : kGlobal) global[option.key] = option.value;
    for (const AoeOption &option : kTuning) tuning[option.key] = option.value;
    ge::Session ge_session;
    uint64_t empty = 0;
    OK(initialize(global));
    OK(create_session(empty));
    const double time = time_of([&] {
        uint64_t session = 0;
        OK(create_session(session));
        OK(set_ge_session(session, &ge_session));
        OK(set_tuning_graph(session, graph));
        OK(set_tuning_graph_input(session, inputs));
        OK(tuning_graph(empty, tuning));
        OK(destroy_session(session));
    });
    OK(destroy_session(empty));
    OK(finalize());
    return time;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) return std::fprintf(stderr, "usage: bench LIBAOE.so LIBAOE_TUNING.so\n"), 2;
    const AoeApi *(*get_api)(uint32_t) = nullptr;
    find(open_library(argv[1]), "AoeGetApi", get_api);
    const AoeApi &aoe = *get_api(AOE_API_VERSION);
    write_graph(aoe);
    void *const drop_in = open_library(argv[2]);
    // Each twice, in turn, the better one counts: what else the machine does is not their fault.
    const double direct = std::min(time_libaoe(aoe), time_libaoe(aoe));
    const double through = std::min(time_drop_in(drop_in), time_drop_in(drop_in));
    // The global scope alone; RTLD_DEFAULT would be this module's.
    const char *scope = dlsym(dlopen(nullptr, RTLD_LAZY), "_ZNK2ge5Graph10SaveToFileEPKc") != nullptr ? "global" : "local";
    std::printf("calls of a tuning, GE %-6s %8.1f us more than the %.1f us of libaoe  (goal: 100 us)\n", scope,
                through - direct, direct);
    return 0;
}
