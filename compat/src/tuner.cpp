#include "tuner.h"

#include "engine.h"
#include "graph.h"
#include "options.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unistd.h>
#include <unordered_map>

namespace drop_in {

namespace {

// What lies between AoeInitialize and AoeFinalize.
struct Life {
    bool initialized = false;
    // The client's options, to know them again.
    Options options;
    // CANN 5.1 to 6.3.RC1: AoeCreateSession has two arguments, and nothing to tune is 12.
    bool older_generation = false;
    // Options that came with AoeCreateSession, by session.
    std::unordered_map<uint64_t, Options> session_options;
};

std::mutex mutex;

// Never destroyed: clients finalise as late as from destructors of their own static objects.
Life &life() {
    static Life *const life = new Life;
    return *life;
}

// The process that initialised, 0 while nobody has. Looked at before the lock is taken, which another thread may
// have held while a child was forked.
std::atomic<pid_t> owner{0};

bool is_forked_child() {
    const pid_t parent = owner.load();
    return parent != 0 && parent != getpid();
}

// Takes the lock of `life`.
std::unique_lock<std::mutex> locked() {
    if (is_forked_child()) {
        throw Failure{AOE_ERROR_FORKED, "the tuner was initialised in the parent of this process; initialise after forking"};
    }
    return std::unique_lock<std::mutex>(mutex);
}

// libaoe's functions, for a call that comes after AoeInitialize; nothing is loaded for one that does not.
const AoeApi &initialized_engine() {
    const auto lock = locked();
    if (!life().initialized) throw Failure{AOE_ERROR_UNINITIALIZED, "AoeInitialize has not been called"};
    return engine();
}

template <typename T>
const T &given(const T *argument, const char *name) {
    if (argument == nullptr) throw Failure{AOE_ERROR_INVALID_PARAM, std::string(name) + " is NULL"};
    return *argument;
}

// Whether the client is of CANN 5.1 to 6.3.RC1. Its call of AoeCreateSession does not tell, but clients since
// 6.3.RC2 name the job type at AoeInitialize, and older ones at AoeCreateSession.
bool comes_from_older_generation(const cann::Options &options) {
    const char *const arguments = std::getenv("AOE_CREATE_SESSION_ARGUMENTS");
    if (arguments == nullptr || *arguments == '\0') return !has_key(options, "job_type");
    if (std::strcmp(arguments, "1") == 0) return false;
    if (std::strcmp(arguments, "2") == 0) return true;
    throw Failure{AOE_ERROR_INVALID_OPTION_ATTR,
                  std::string("AOE_CREATE_SESSION_ARGUMENTS: `") + arguments + "` is neither 1 nor 2"};
}

void append(Options &options, const Options &more) { options.insert(options.end(), more.begin(), more.end()); }

// torchair initialises again for every graph; what it asks for must be what there is.
void repeat_initialize(const Options &options) {
    if (options == life().options) return;
    throw Failure{AOE_ERROR_REPEAT_INITIALIZE, "the tuner is initialised already, with other options"};
}

bool is_older_generation() {
    const auto lock = locked();
    return life().older_generation;
}

// The options that the session was created with.
Options options_of(uint64_t session) {
    const auto lock = locked();
    const auto found = life().session_options.find(session);
    return found == life().session_options.end() ? Options() : found->second;
}

}  // namespace

int32_t initialize(const cann::Options *options) {
    return guarded("AoeInitialize", [=] {
        const cann::Options &client = given(options, "globalOptions");
        const Options client_options = read(client);
        const auto lock = locked();
        if (life().initialized) return repeat_initialize(client_options);
        const bool older_generation = comes_from_older_generation(client);
        // The client compiles its graph itself, with the bank; a tuned model at every step would only fill the disk.
        // Its tunings share one result file, as CANN has it for training and for PyTorch.
        Options all = {{"log", message_level_name()}, {"tuned_model", "off"}, {"result_file", "process"}};
        append(all, read_environment());
        append(all, known(client_options));
        const auto view = drop_in::view(all);
        require(engine().Initialize(view.data(), view.size()));
        life().options = client_options;
        life().older_generation = older_generation;
        life().initialized = true;
        owner = getpid();
    });
}

int32_t finalize() {
    return guarded("AoeFinalize", [] {
        // Clients finalise twice, and from destructors of forked children, which hold nothing of their own.
        if (is_forked_child()) return;
        const auto lock = locked();
        if (!life().initialized) return;
        require(engine().Finalize());
        life() = Life();
        owner = 0;
    });
}

int32_t create_session(void *first, uint64_t *second) {
    return guarded("AoeCreateSession", [=] {
        const AoeApi &aoe = initialized_engine();
        const auto lock = locked();
        if (!life().older_generation) {
            uint64_t *const session = static_cast<uint64_t *>(first);
            given(session, "sessionId");
            return require(aoe.CreateSession(session));
        }
        Options options = known(read(given(static_cast<const cann::Options *>(first), "sessionOptions")));
        given(second, "sessionId");
        require(aoe.CreateSession(second));
        life().session_options[*second] = std::move(options);
    });
}

int32_t destroy_session(uint64_t session) {
    return guarded("AoeDestroySession", [=] {
        require(initialized_engine().DestroySession(session));
        const auto lock = locked();
        life().session_options.erase(session);
    });
}

int32_t set_ge_session(uint64_t session, ge::Session *ge_session) {
    return guarded("AoeSetGeSession", [=] {
        require(initialized_engine().SetGeSession(session, ge_session));
    });
}

int32_t set_tuning_graph(uint64_t session, const ge::Graph *graph) {
    return guarded("AoeSetTuningGraph", [=] {
        const AoeApi &aoe = initialized_engine();
        const GraphPointer read = read_graph(given(graph, "tuningGraph"));
        require(aoe.SetTuningGraph(session, read.get()));
    });
}

int32_t set_tuning_graph_input(uint64_t session, const std::vector<ge::Tensor> *inputs) {
    return guarded("AoeSetTuningGraphInput", [=] {
        const AoeApi &aoe = initialized_engine();
        const TensorDescriptions read(given(inputs, "inputs"));
        require(aoe.SetTuningGraphInput(session, read.data(), read.size()));
    });
}

int32_t tuning_graph(uint64_t session, const cann::Options *options) {
    AoeStatus nothing_to_tune = AOE_SUCCESS;
    const AoeStatus status = guarded("AoeTuningGraph", [&] {
        const AoeApi &aoe = initialized_engine();
        const Options call = known(read(given(options, "tuningOptions")));
        Options all = options_of(session);
        append(all, call);
        const auto view = drop_in::view(all);
        const AoeStatus tuned = aoe.TuningGraph(session, view.data(), view.size());
        if (tuned != AOE_ERROR_NON_OPTIMIZE_GRAPH) return require(tuned);
        message(AOE_LOG_INFO, "AoeTuningGraph: %s", aoe.GetLastError());
        nothing_to_tune = is_older_generation() ? AOE_ERROR_NON_OPTIMIZABLE_OBJECT : AOE_ERROR_NON_OPTIMIZE_GRAPH;
    });
    return status != AOE_SUCCESS ? status : nothing_to_tune;
}

int32_t set_depend_graphs(uint64_t session, const std::vector<ge::Graph> *graphs) {
    return guarded("AoeSetDependGraphs", [=] {
        const AoeApi &aoe = initialized_engine();
        std::vector<GraphPointer> read;
        std::vector<const AoeGraph *> view;
        for (const ge::Graph &graph : given(graphs, "dependGraphs")) {
            read.push_back(read_graph(graph));
            view.push_back(read.back().get());
        }
        require(aoe.SetDependGraphs(session, view.data(), view.size()));
    });
}

int32_t set_depend_graphs_inputs(uint64_t session, const std::vector<std::vector<ge::Tensor>> *inputs) {
    return guarded("AoeSetDependGraphsInputs", [=] {
        const AoeApi &aoe = initialized_engine();
        std::vector<TensorDescriptions> read;
        std::vector<const AoeTensor *> tensors;
        std::vector<size_t> counts;
        for (const std::vector<ge::Tensor> &of_graph : given(inputs, "dependGraphsInputs")) {
            read.emplace_back(of_graph);
            tensors.push_back(read.back().data());
            counts.push_back(read.back().size());
        }
        require(aoe.SetDependGraphsInputs(session, tensors.data(), counts.data(), counts.size()));
    });
}

}  // namespace drop_in
