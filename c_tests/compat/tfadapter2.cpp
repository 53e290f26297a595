// TFAdapter 2.x: a session for every execution of a graph; the session of a failed one is leaked, and the library is
// closed by a destructor of a static object.
#include "older_client.h"

static ge::Session ge_session;

// Opened at device open, closed when the process ends.
static const Library &library() {
    static const Library library(RTLD_NOW);
    return library;
}

static void call_order_of(const char *job, const char *kind, const ge::Graph &cached, const Tensors &inputs) {
    Functions aoe;
    aoe.find_all(library());
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}, {"job_type", job}}));
    for (int execution = 0; execution < 3; execution++) {
        const ge::Graph graph = cached;
        uint64_t session = 0;
        EXPECT(AOE_SUCCESS, aoe.create_session(session));
        CHECK(session != 0);
        EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, &ge_session));
        EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, graph));
        EXPECT(AOE_SUCCESS, aoe.set_tuning_graph_input(session, inputs));
        const int32_t status = aoe.tuning_graph(session, {{"ge.aoe_config_file", ""}});
        if (status != AOE_SUCCESS) EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, status);
        EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
    }
    EXPECT(AOE_SUCCESS, aoe.finalize());
    CHECK(results_in(".", kind) == 3);
}

TEST(call_order) { call_order_of("2", "opat", product(), first_step()); }

TEST(call_order_of_subgraphs) { call_order_of("1", "sgat", product(), first_step()); }

TEST(call_order_of_gradients) {
    // The tests' environment has an option that means nothing to gradients.
    allow_noise();
    call_order_of("4", "gdat", training(), first_step(512));
}

TEST(leaked_sessions_end_with_finalise) {
    Functions aoe;
    aoe.find_all(library());
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}, {"job_type", "2"}}));
    uint64_t leaked = 0, next = 0;
    EXPECT(AOE_SUCCESS, aoe.create_session(leaked));
    EXPECT(AOE_SUCCESS, aoe.set_ge_session(leaked, &ge_session));
    EXPECT(AOE_ERROR_INVALID_GRAPH, aoe.set_tuning_graph(leaked, ge::Graph()));
    EXPECT(AOE_SUCCESS, aoe.create_session(next));
    CHECK(next != leaked);
    EXPECT(AOE_SUCCESS, aoe.destroy_session(next));
    EXPECT_NAMED(AOE_SUCCESS, "reclaimed 1 session", aoe.finalize());
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}, {"job_type", "2"}}));
    EXPECT(AOE_ERROR_INVALID_SESSION, aoe.set_tuning_graph(leaked, product()));
    EXPECT(AOE_SUCCESS, aoe.finalize());
}

TEST(older_call_order) {
    OlderFunctions<Aoe::AscendString> aoe;
    aoe.find_all(library());
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}}));
    ge::Graph graph = product();
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, aoe.create_session({{"job_type", "2"}}, session));
    EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, &ge_session));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, graph));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph_input(session, first_step()));
    EXPECT(AOE_SUCCESS, aoe.tuning_graph(session, {{"ge.aoe_config_file", ""}}));
    EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
    EXPECT(AOE_SUCCESS, aoe.finalize());
}
