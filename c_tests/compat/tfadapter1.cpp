// TFAdapter 1.x: one initialisation, a session for each GeOp on an executor thread, finalise after GE's and once more
// when the process ends. The older form names the job with the session and takes 12 for good.
#include "older_client.h"

#include <mutex>
#include <thread>

static ge::Session ge_session;

// What each GeOp does for itself.
static void compute(const ge::Graph &graph, const Tensors &inputs, const Options &options) {
    static std::mutex creating;
    const Library library(RTLD_NOW);
    Functions aoe;
    aoe.find_all(library);
    uint64_t session = 0;
    {
        const std::lock_guard<std::mutex> lock(creating);
        EXPECT(AOE_SUCCESS, aoe.create_session(session));
    }
    EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, &ge_session));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, graph));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph_input(session, inputs));
    const int32_t status = aoe.tuning_graph(session, options);
    if (status != AOE_SUCCESS) EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, status);
    EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
}

TEST(call_order) {
    const Options unset = {{"ge.recompute", ""}, {"ge.aoe_config_file", ""}};
    {
        const Library library(RTLD_NOW);
        Functions aoe;
        aoe.find_all(library);
        EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}, {"job_type", "2"}, {"ge.resourceConfigPath", ""}}));
        std::thread one([&] { compute(product(), first_step(), unset); });
        std::thread two([&] { compute(product(), first_step(), unset); });
        std::thread three([&] { compute(nothing(), {}, unset); });
        one.join();
        two.join();
        three.join();
        EXPECT(AOE_SUCCESS, aoe.finalize());
    }
    CHECK(results_in(".") == 3);
    const Library at_process_close(RTLD_NOW);
    Functions aoe;
    aoe.find_all(at_process_close);
    EXPECT(AOE_SUCCESS, aoe.finalize());
}

// Every GeOp of a life with another job; of gradients those are skipped whose graph has no AllReduce.
static void call_order_of(const char *job, const char *kind) {
    const bool of_gradients = std::string(job) == "4";
    // The tests' environment has an option that means nothing to gradients.
    if (of_gradients) allow_noise();
    const Library library(RTLD_NOW);
    Functions aoe;
    aoe.find_all(library);
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}, {"job_type", job}, {"ge.resourceConfigPath", ""}}));
    const Options unset = {{"ge.recompute", ""}, {"ge.aoe_config_file", ""}};
    std::thread one([&] { if (!of_gradients) compute(product(), first_step(), unset); });
    std::thread two([&] { compute(training(), first_step(512), unset); });
    one.join();
    two.join();
    EXPECT(AOE_SUCCESS, aoe.finalize());
    EXPECT(AOE_SUCCESS, aoe.finalize());
    CHECK(results_in(".", kind) == (of_gradients ? 1 : 2));
}

TEST(call_order_of_subgraphs) { call_order_of("1", "sgat"); }

TEST(call_order_of_gradients) { call_order_of("4", "gdat"); }

TEST(a_configuration_file_chooses_the_operators) {
    static const char config[] = "{\"tune_ops_type\":[\"Conv2D\"]}";
    check_write_file("config.json", config, sizeof config - 1);
    const Library library(RTLD_NOW);
    Functions aoe;
    aoe.find_all(library);
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}, {"job_type", "2"}, {"ge.resourceConfigPath", ""}}));
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, aoe.create_session(session));
    EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, &ge_session));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, product()));
    EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, aoe.tuning_graph(session, {{"ge.recompute", ""}, {"ge.aoe_config_file", "config.json"}}));
    EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
    EXPECT(AOE_SUCCESS, aoe.finalize());
}

TEST(the_session_of_a_failed_op_is_destroyed) {
    const Library library(RTLD_NOW);
    Functions aoe;
    aoe.find_all(library);
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}, {"job_type", "2"}, {"ge.resourceConfigPath", ""}}));
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, aoe.create_session(session));
    EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, &ge_session));
    EXPECT_NAMED(AOE_ERROR_INVALID_GRAPH, "SaveToFile", aoe.set_tuning_graph(session, ge::Graph()));
    EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
    compute(product(), first_step(), {});
    EXPECT(AOE_SUCCESS, aoe.finalize());
}

// Releases 1.8 to 1.12; from 1.10 on the session names a resource configuration, and 1.8 tunes without options.
static void older_call_order(const OlderFunctions<Aoe::AscendString>::Options &session_options,
                             const OlderFunctions<Aoe::AscendString>::Options &tuning_options) {
    const Library library(RTLD_NOW);
    OlderFunctions<Aoe::AscendString> aoe;
    aoe.find_all(library);
    EXPECT(AOE_SUCCESS, aoe.initialize({{"work_path", "./"}}));
    ge::Graph graphs[] = {product(), nothing()};
    for (int i = 0; i < 2; i++) {
        uint64_t session = 0;
        EXPECT(AOE_SUCCESS, aoe.create_session(session_options, session));
        EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, &ge_session));
        EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, graphs[i]));
        EXPECT(AOE_SUCCESS, aoe.set_tuning_graph_input(session, i == 0 ? first_step() : Tensors()));
        EXPECT(i == 0 ? AOE_SUCCESS : AOE_ERROR_NON_OPTIMIZABLE_OBJECT, aoe.tuning_graph(session, tuning_options));
        EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
    }
    EXPECT(AOE_SUCCESS, aoe.finalize());
    EXPECT(AOE_SUCCESS, aoe.finalize());
    CHECK(results_in(".") == 2);
}

TEST(older_call_order_8) { older_call_order({{"job_type", "2"}}, {}); }

TEST(older_call_order_10) {
    older_call_order({{"job_type", "2"}, {"ge.resourceConfigPath", ""}},
                     {{"ge.recompute", ""}, {"ge.aoe_config_file", ""}});
}
