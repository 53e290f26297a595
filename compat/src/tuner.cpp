#include "tuner.h"

#include "engine.h"
#include "graph.h"
#include "memory.h"
#include "options.h"
#include "process.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace drop_in {

namespace {

// How the client calls AoeCreateSession.
enum class Arguments {
    kSession,            // as since CANN 6.3.RC2
    kOptionsAndSession,  // as from 5.1 to 6.3.RC1
    kUnknown,            // the call itself has to show it
};

// What lies between AoeInitialize and AoeFinalize.
struct Life {
    // Set while initialised.
    std::unique_ptr<const Use> use;
    // The client's options, to know them again.
    Options options;
    Arguments arguments = Arguments::kUnknown;
    // Options that came with AoeCreateSession, by session. A session that has them is an older client's, to which
    // nothing to tune is 12.
    std::unordered_map<uint64_t, Options> session_options;
};

std::mutex mutex;

// Never destroyed: clients finalise as late as from destructors of their own static objects.
Life &life() {
    static Life *const life = new Life;
    return *life;
}

// Takes the lock of `life`.
std::unique_lock<std::mutex> locked() { return std::unique_lock<std::mutex>(mutex); }

// Runs the body of an exported function.
template <typename Body>
AoeStatus in_use(const char *function, Body body) {
    return guarded(function, [&] {
        const Use use;
        body();
    });
}

// libaoe's functions, for a call that comes after AoeInitialize; nothing is loaded for one that does not.
const AoeApi &initialized_engine() {
    const auto lock = locked();
    if (life().use == nullptr) throw Failure{AOE_ERROR_UNINITIALIZED, "AoeInitialize has not been called"};
    return engine();
}

template <typename T>
const T &given(const T *argument, const char *name) {
    if (argument == nullptr) throw Failure{AOE_ERROR_INVALID_PARAM, std::string(name) + " is NULL"};
    return *argument;
}

// Where a result goes.
uint64_t *place(void *argument, const char *name) {
    given(static_cast<const uint64_t *>(argument), name);
    if (!is_readable(argument)) throw Failure{AOE_ERROR_INVALID_PARAM, std::string(name) + " refers to no memory"};
    return static_cast<uint64_t *>(argument);
}

// How a client that initialises so calls AoeCreateSession. CANN's own clients since 6.3.RC2 name the job type now,
// older ones at AoeCreateSession; other programs may name it later still.
Arguments arguments_of(const cann::Options &options) {
    const char *const arguments = std::getenv("AOE_CREATE_SESSION_ARGUMENTS");
    if (arguments == nullptr || *arguments == '\0') {
        return has_key(options, "job_type") ? Arguments::kSession : Arguments::kUnknown;
    }
    if (std::strcmp(arguments, "1") == 0) return Arguments::kSession;
    if (std::strcmp(arguments, "2") == 0) return Arguments::kOptionsAndSession;
    throw Failure{AOE_ERROR_INVALID_OPTION_ATTR,
                  std::string("AOE_CREATE_SESSION_ARGUMENTS: `") + arguments + "` is neither 1 nor 2"};
}

// The options that come first in a call of AoeCreateSession; null where the session does. Without a rule options must
// be there, as older clients always send some: on the stack an empty map may have been where the session is now.
const cann::Options *session_options(const void *first) {
    const Arguments arguments = life().arguments;
    if (arguments == Arguments::kSession) return nullptr;
    const MapAt map = map_at(first);
    if (arguments == Arguments::kUnknown && map == MapAt::kEmpty) {
        message(AOE_LOG_WARNING, "AoeCreateSession: the first argument may be an empty map of options, and is taken for where the "
                                 "session goes; if options come first, set AOE_CREATE_SESSION_ARGUMENTS=2, otherwise 1");
    }
    if (arguments == Arguments::kUnknown && map != MapAt::kFilled) return nullptr;
    given(static_cast<const cann::Options *>(first), "sessionOptions");
    if (map == MapAt::kNone) {
        throw Failure{AOE_ERROR_INVALID_PARAM,
                      "sessionOptions is no map of options, though AOE_CREATE_SESSION_ARGUMENTS says that one comes first"};
    }
    return static_cast<const cann::Options *>(first);
}

void append(Options &options, const Options &more) { options.insert(options.end(), more.begin(), more.end()); }

// torchair initialises again for every graph; what it asks for must be what there is.
void repeat_initialize(const Options &options) {
    if (options == life().options) return;
    throw Failure{AOE_ERROR_REPEAT_INITIALIZE, "the tuner is initialised already, with other options"};
}

bool is_older_client(uint64_t session) {
    const auto lock = locked();
    return life().session_options.count(session) != 0;
}

// The options that the session was created with.
Options options_of(uint64_t session) {
    const auto lock = locked();
    const auto found = life().session_options.find(session);
    return found == life().session_options.end() ? Options() : found->second;
}

}  // namespace

int32_t initialize(const cann::Options *options) {
    return in_use("AoeInitialize", [=] {
        const cann::Options &client = given(options, "globalOptions");
        const Options client_options = read(client);
        const auto lock = locked();
        if (life().use != nullptr) return repeat_initialize(client_options);
        Life begun;
        begun.use.reset(new Use);
        begun.arguments = arguments_of(client);
        // The client compiles its graph itself, with the bank; a tuned model at every step would only fill the disk.
        // Its tunings share one result file, as CANN has it for training and for PyTorch.
        Options all = {{"log", message_level_name()}, {"tuned_model", "off"}, {"result_file", "process"}};
        append(all, read_environment());
        append(all, known(client_options));
        const auto view = drop_in::view(all);
        begun.options = client_options;
        require(engine().Initialize(view.data(), view.size()));
        life() = std::move(begun);
    });
}

int32_t finalize() {
    // Clients finalise twice, and from destructors of forked children, which hold nothing of their own.
    if (is_forked_child()) return AOE_SUCCESS;
    return in_use("AoeFinalize", [] {
        const auto lock = locked();
        if (life().use == nullptr) return;
        require(engine().Finalize());
        life() = Life();
    });
}

int32_t create_session(void *first, uint64_t *second) {
    return in_use("AoeCreateSession", [=] {
        const AoeApi &aoe = initialized_engine();
        const auto lock = locked();
        const cann::Options *const given_options = session_options(first);
        if (given_options == nullptr) return require(aoe.CreateSession(place(first, "sessionId")));
        Options options = known(read(*given_options));
        uint64_t *const session = place(second, "sessionId");
        require(aoe.CreateSession(session));
        life().session_options[*session] = std::move(options);
    });
}

int32_t destroy_session(uint64_t session) {
    return in_use("AoeDestroySession", [=] {
        require(initialized_engine().DestroySession(session));
        const auto lock = locked();
        life().session_options.erase(session);
    });
}

int32_t set_ge_session(uint64_t session, ge::Session *ge_session) {
    return in_use("AoeSetGeSession", [=] {
        require(initialized_engine().SetGeSession(session, ge_session));
    });
}

int32_t set_tuning_graph(uint64_t session, const ge::Graph *graph) {
    return in_use("AoeSetTuningGraph", [=] {
        const AoeApi &aoe = initialized_engine();
        const GraphPointer read = read_graph(given(graph, "tuningGraph"));
        require(aoe.SetTuningGraph(session, read.get()));
    });
}

int32_t set_tuning_graph_input(uint64_t session, const std::vector<ge::Tensor> *inputs) {
    return in_use("AoeSetTuningGraphInput", [=] {
        const AoeApi &aoe = initialized_engine();
        const TensorDescriptions read(given(inputs, "inputs"));
        require(aoe.SetTuningGraphInput(session, read.data(), read.size()));
    });
}

int32_t tuning_graph(uint64_t session, const cann::Options *options) {
    AoeStatus nothing_to_tune = AOE_SUCCESS;
    const AoeStatus status = in_use("AoeTuningGraph", [&] {
        const AoeApi &aoe = initialized_engine();
        const Options call = known(read(given(options, "tuningOptions")));
        Options all = options_of(session);
        append(all, call);
        const auto view = drop_in::view(all);
        const AoeStatus tuned = aoe.TuningGraph(session, view.data(), view.size());
        // CANN has one status for nothing to tune and for no graph.
        if (tuned != AOE_ERROR_NON_OPTIMIZE_GRAPH && tuned != AOE_ERROR_NO_GRAPH) return require(tuned);
        message(AOE_LOG_INFO, "AoeTuningGraph: %s", aoe.GetLastError());
        nothing_to_tune = is_older_client(session) ? AOE_ERROR_NON_OPTIMIZABLE_OBJECT : AOE_ERROR_NON_OPTIMIZE_GRAPH;
    });
    return status != AOE_SUCCESS ? status : nothing_to_tune;
}

int32_t set_depend_graphs(uint64_t session, const std::vector<ge::Graph> *graphs) {
    return in_use("AoeSetDependGraphs", [=] {
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
    return in_use("AoeSetDependGraphsInputs", [=] {
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
