// The ten functions that CANN's clients look up, with CANN's parameter types.
//
// This file knows nothing of libaoe, whose header declares the same ten names with C types. AoeCreateSession
// stands for two functions that cannot be told apart by a call: that of CANN 5.1 to 6.3.RC1 takes (const Options
// &options, uint64_t &session), that of later ones (uint64_t &session). So it takes two addresses, and the second
// is not looked at before it is known to be one.
#include "cann.h"
#include "tuner.h"

// References to NULL are expected here: see address().
#define EXPORT __attribute__((visibility("default"), no_sanitize("null")))

namespace {

// The address behind a reference. A client in another language may have passed NULL, and a compiler, which may
// rely on there being an object, must not know that we ask.
template <typename T>
__attribute__((no_sanitize("null"))) const T *address(const T &reference) {
    const T *pointer = std::addressof(reference);
    __asm__("" : "+r"(pointer));
    return pointer;
}

}  // namespace

extern "C" {

EXPORT int32_t AoeInitialize(const cann::Options &options) { return drop_in::initialize(address(options)); }

EXPORT int32_t AoeFinalize() { return drop_in::finalize(); }

EXPORT int32_t AoeCreateSession(void *session_or_options, uint64_t *session) {
    return drop_in::create_session(session_or_options, session);
}

EXPORT int32_t AoeDestroySession(uint64_t session) { return drop_in::destroy_session(session); }

EXPORT int32_t AoeSetGeSession(uint64_t session, ge::Session *ge_session) {
    return drop_in::set_ge_session(session, ge_session);
}

EXPORT int32_t AoeSetTuningGraph(uint64_t session, const ge::Graph &graph) {
    return drop_in::set_tuning_graph(session, address(graph));
}

EXPORT int32_t AoeSetTuningGraphInput(uint64_t session, const std::vector<ge::Tensor> &inputs) {
    return drop_in::set_tuning_graph_input(session, address(inputs));
}

EXPORT int32_t AoeTuningGraph(uint64_t session, const cann::Options &options) {
    return drop_in::tuning_graph(session, address(options));
}

EXPORT int32_t AoeSetDependGraphs(uint64_t session, const std::vector<ge::Graph> &graphs) {
    return drop_in::set_depend_graphs(session, address(graphs));
}

EXPORT int32_t AoeSetDependGraphsInputs(uint64_t session, const std::vector<std::vector<ge::Tensor>> &inputs) {
    return drop_in::set_depend_graphs_inputs(session, address(inputs));
}

}  // extern "C"
