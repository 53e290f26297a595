// A process without GE: what the tuner then cannot read is an error that names the function it looked for.
#include "older_client.h"

// In the place of GE's classes, which are not in this program: a shared pointer.
struct Opaque {
    std::shared_ptr<void> implementation;
};

static int32_t (*set_tuning_graph)(uint64_t, const Opaque &);
static int32_t (*set_tuning_graph_input)(uint64_t, const std::vector<Opaque> &);
static OlderFunctions<Aoe::AscendString> aoe;

static uint64_t begin(const Library &library) {
    aoe.find_six(library);
    library.find("AoeSetTuningGraph", set_tuning_graph);
    library.find("AoeSetTuningGraphInput", set_tuning_graph_input);
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, aoe.initialize({}));
    EXPECT(AOE_SUCCESS, aoe.create_session({{"job_type", "2"}}, session));
    return session;
}

TEST(a_graph_names_the_function_that_is_missing) {
    const Library library(RTLD_NOW);
    const uint64_t session = begin(library);
    EXPECT_NAMED(AOE_ERROR_INVALID_GRAPH, "ge::Graph::SaveToFile(const char *) const (_ZNK2ge5Graph10SaveToFileEPKc)",
                 set_tuning_graph(session, Opaque()));
    EXPECT(AOE_ERROR_NON_OPTIMIZABLE_OBJECT, aoe.tuning_graph(session, {}));
    EXPECT(AOE_SUCCESS, aoe.finalize());
}

TEST(inputs_name_the_function_that_is_missing_and_none_need_none) {
    const Library library(RTLD_NOW);
    const uint64_t session = begin(library);
    EXPECT_NAMED(AOE_ERROR_INVALID_GRAPH, "_ZNK2ge6Tensor13GetTensorDescEv", set_tuning_graph_input(session, {Opaque()}));
    EXPECT(AOE_SUCCESS, set_tuning_graph_input(session, {}));
    EXPECT(AOE_SUCCESS, aoe.finalize());
}
