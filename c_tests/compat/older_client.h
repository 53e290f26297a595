// older_client.h - the functions as clients of CANN 5.1 to 6.3.RC1 know them: strings of another class, the options of
// a session with AoeCreateSession, and graphs by a reference that is not const.
#ifndef OLDER_CLIENT_H
#define OLDER_CLIENT_H

#include "client.h"

namespace Aoe {

class AscendString {
  public:
    AscendString(const char *text) : name_(std::make_shared<std::string>(text)) {}  // NOLINT: implicit, as CANN's
    bool operator<(const AscendString &other) const { return *name_ < *other.name_; }

  private:
    std::shared_ptr<std::string> name_;
};

}  // namespace Aoe

// String is Aoe::AscendString, or ge::AscendString in clients that were written before it.
template <typename String>
struct OlderFunctions {
    using Options = std::map<String, String>;

    int32_t (*initialize)(const Options &) = nullptr;
    int32_t (*finalize)() = nullptr;
    int32_t (*create_session)(const Options &, uint64_t &) = nullptr;
    int32_t (*destroy_session)(uint64_t) = nullptr;
    int32_t (*set_ge_session)(uint64_t, ge::Session *) = nullptr;
    int32_t (*set_tuning_graph)(uint64_t, ge::Graph &) = nullptr;
    int32_t (*tuning_graph)(uint64_t, const Options &) = nullptr;
    int32_t (*set_tuning_graph_input)(uint64_t, const Tensors &) = nullptr;
    int32_t (*set_depend_graphs)(uint64_t, std::vector<ge::Graph> &) = nullptr;
    int32_t (*set_depend_graphs_inputs)(uint64_t, const std::vector<Tensors> &) = nullptr;

    // The six that torch_npu looked up.
    void find_six(const Library &library) {
        library.find("AoeInitialize", initialize);
        library.find("AoeFinalize", finalize);
        library.find("AoeCreateSession", create_session);
        library.find("AoeDestroySession", destroy_session);
        library.find("AoeSetTuningGraph", set_tuning_graph);
        library.find("AoeTuningGraph", tuning_graph);
    }

    void find_all(const Library &library) {
        find_six(library);
        library.find("AoeSetGeSession", set_ge_session);
        library.find("AoeSetTuningGraphInput", set_tuning_graph_input);
        library.find("AoeSetDependGraphs", set_depend_graphs);
        library.find("AoeSetDependGraphsInputs", set_depend_graphs_inputs);
    }
};

#endif
