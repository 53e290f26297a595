// torchair: opens the library and initialises again for every graph, finalises once; a session of a failed graph is
// leaked.
#include "client.h"

static ge::Session ge_session;

static void compile(const ge::Graph &graph, const Tensors &inputs, int32_t tuned) {
    static Functions aoe;
    static const Library library(RTLD_NOW);
    aoe.find_all(library);
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "work"}, {"job_type", "2"}}));
    const ge::Graph clone = graph;
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, aoe.create_session(session));
    EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, &ge_session));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, clone));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph_input(session, inputs));
    EXPECT(tuned, aoe.tuning_graph(session, {}));
    EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
}

static void finalize_process() {
    const Library library(RTLD_NOW);
    Functions aoe;
    aoe.find_all(library);
    EXPECT(AOE_SUCCESS, aoe.finalize());
}

TEST(call_order) {
    CHECK(mkdir("work", 0700) == 0);
    compile(product(), first_step(), AOE_SUCCESS);
    compile(slashes(), first_step(128), AOE_SUCCESS);
    compile(nothing(), {}, AOE_ERROR_NON_OPTIMIZE_GRAPH);
    CHECK(results_in("work") == 3);
    finalize_process();
}

TEST(other_options_while_it_is_initialised_are_refused) {
    CHECK(mkdir("work", 0700) == 0);
    compile(product(), first_step(), AOE_SUCCESS);
    const Library library(RTLD_NOW);
    Functions aoe;
    aoe.find_all(library);
    EXPECT_NAMED(AOE_ERROR_REPEAT_INITIALIZE, "other options", aoe.initialize({{"work_path", "work"}, {"job_type", "1"}}));
    compile(product(), first_step(), AOE_SUCCESS);
    finalize_process();
}
