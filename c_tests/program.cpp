// An IR-construction program: builds a network with code, tunes it, reads the report. C++17, aoe.hpp.
#include <aoe.hpp>

#include "support/check.h"
#include "support/json.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include <sys/stat.h>

namespace {

const aoe::Options quick{{"job_type", "2"}, {"backend", "simulator"}, {"soc_version", "Ascend910B2"}, {"max_tuning_count", "16"}};

// A residual block: y = relu(conv(relu(conv(x))) + x).
aoe::Graph residual_block() {
    aoe::Graph graph = aoe::Graph::create("block");
    const std::vector<std::int64_t> ones(4, 1);
    const aoe::Output x = graph.input("x", {AOE_DT_FLOAT16, {1, 64, 28, 28}, AOE_FORMAT_NCHW});
    aoe::Output last = x;
    for (const char *name : {"conv1", "conv2"}) {
        const aoe::Tensor weights(AOE_DT_FLOAT16, {64, 64, 3, 3}, AOE_FORMAT_NCHW);
        const aoe::Output w = graph.constant(std::string(name) + "/w", weights);
        const aoe::Node conv = graph.node(name, "Conv2D", {last, w});
        conv.attr("strides", ones).attr("pads", ones).attr("dilations", ones).attr("groups", 1).attr("data_format", "NCHW");
        last = graph.node(std::string(name) + "/relu", "Relu", {conv});
    }
    const aoe::Node sum = graph.node("sum", "Add", {last, x});
    graph.output(graph.node("y", "Relu", {sum}));
    return graph;
}

} // namespace

TEST(build_tune_and_read_the_report) {
    const aoe::Library library = aoe::Library::initialize(quick);
    aoe::Graph graph = residual_block();
    CHECK(graph.node_count() == 9);
    CHECK(graph.find("conv2").id() == 5);
    aoe::Session session = aoe::Session::create();
    session.set_graph(graph);
    std::uint64_t done = 0;
    session.on_progress([&](const AoeProgress &progress) {
        done = progress.done;
        return true;
    });
    CHECK(session.tune({{"seed", "5"}}));
    CHECK(done >= 2);
    const std::string report = session.report();
    CHECK(json_valid(report.c_str()));
    CHECK(report.find("\"tuning successful\"") != std::string::npos);
    const aoe::Graph tuned = session.tuned_graph();
    CHECK(tuned.node_count() == 9);
    CHECK(json_valid(tuned.string_attr("conv1", "_aoe_tiling").c_str()));
    CHECK(tuned.try_string_attr("x", "_aoe_tiling").status() == AOE_ERROR_NOT_FOUND);
    CHECK(session.error().empty());
}

TEST(errors_are_exceptions_that_name_the_culprit) {
    aoe::Graph graph = residual_block();
    try {
        graph.node("conv1", "Conv2D", {});
        CHECK(!"a duplicate name was accepted");
    } catch (const aoe::Error &error) {
        CHECK(error.status() == AOE_ERROR_INVALID_GRAPH);
        CHECK(std::strstr(error.what(), "AOE_ERROR_INVALID_GRAPH: ") == error.what());
        CHECK(std::strstr(error.what(), "`conv1`") != nullptr);
    }
    try {
        aoe::Session::create();
        CHECK(!"a session before initialisation");
    } catch (const aoe::Error &error) {
        CHECK(error.status() == AOE_ERROR_UNINITIALIZED);
    }
}

TEST(errors_are_results_where_exceptions_are_not_wanted) {
    const auto missing = aoe::Graph::try_load("nowhere.onnx");
    CHECK(!missing && missing.status() == AOE_ERROR_IO);
    CHECK(missing.message().find("nowhere.onnx") != std::string::npos);
    auto graph = aoe::Graph::try_create("net");
    CHECK(graph && graph.status() == AOE_SUCCESS && graph.message().empty());
    const auto node = graph->try_node("a", "Relu", {{7, 0}});
    CHECK(!node && node.status() == AOE_ERROR_INVALID_PARAM);
}

TEST(an_exception_in_a_progress_function_leaves_through_tune) {
    const aoe::Library library = aoe::Library::initialize(quick);
    aoe::Session session = aoe::Session::create();
    session.set_graph(residual_block());
    session.on_progress([](const AoeProgress &) -> bool { throw std::logic_error("from the host"); });
    try {
        session.tune();
        CHECK(!"nothing was thrown");
    } catch (const std::logic_error &error) {
        CHECK(std::strcmp(error.what(), "from the host") == 0);
    }
    session.on_progress(nullptr);
    CHECK(session.tune());
}

TEST(a_progress_function_cancels_by_its_answer) {
    const aoe::Library library = aoe::Library::initialize(quick);
    aoe::Session session = aoe::Session::create();
    session.set_graph(residual_block());
    session.on_progress([](const AoeProgress &) { return false; });
    CHECK(session.try_tune().status() == AOE_ERROR_CANCELLED);
}

TEST(nothing_to_tune_is_an_answer_not_an_error) {
    const aoe::Library library = aoe::Library::initialize(quick);
    aoe::Session session = aoe::Session::create();
    session.set_graph(aoe::Graph::create("empty"));
    CHECK(!session.tune());
}

TEST(a_graph_that_was_never_set_is_an_error) {
    const aoe::Library library = aoe::Library::initialize(quick);
    aoe::Session session = aoe::Session::create();
    try {
        session.tune();
        CHECK(!"tuned without a graph");
    } catch (const aoe::Error &error) {
        CHECK(error.status() == AOE_ERROR_NO_GRAPH);
    }
}

TEST(objects_release_what_they_own_when_moved_and_dropped) {
    AoeSessionId id = 0;
    {
        aoe::Library library = aoe::Library::initialize(quick);
        const aoe::Library moved = std::move(library);
        aoe::Session session = aoe::Session::create();
        id = session.id();
        aoe::Session taken = std::move(session);
        CHECK(taken.id() == id && session.id() == 0);
        aoe::Session other = aoe::Session::create();
        taken = std::move(other);
        CHECK(taken.id() != id);
        aoe::Graph graph = residual_block();
        const aoe::Graph kept = std::move(graph);
        CHECK(kept.node_count() == 9);
    }
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeFinalize());
}

TEST(inputs_and_depend_graphs_are_handed_over) {
    const aoe::Library library = aoe::Library::initialize(quick);
    const aoe::Graph graph = residual_block(), first = residual_block();
    aoe::Session session = aoe::Session::create();
    const aoe::Tensor x(AOE_DT_FLOAT16, {1, 64, 28, 28}, AOE_FORMAT_NCHW);
    session.set_depend_graphs({&first});
    session.set_depend_inputs({{x}});
    CHECK(session.try_set_depend_inputs({{x}, {x}}).status() == AOE_ERROR_INVALID_PARAM);
    CHECK(session.try_set_depend_graphs({nullptr}).status() == AOE_ERROR_INVALID_PARAM);
    session.set_graph(graph);
    session.set_inputs({x});
    int ge_session = 0;
    session.set_ge_session(&ge_session);
    CHECK(session.tune());
}

TEST(sessions_in_many_threads) {
    const aoe::Library library = aoe::Library::initialize(quick);
    const aoe::Graph graph = residual_block();
    std::atomic<int> tuned{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] {
            aoe::Session session = aoe::Session::create();
            session.set_graph(graph);
            if (session.tune()) tuned++;
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(tuned == 8);
}

TEST(banks_are_opened_asked_and_merged) {
    const std::string name = "/Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";
    const std::string info =
        R"({"a_dtype":1,"a_format":2,"aub_double_num":1.0,"b_dtype":1,"b_format":2,"batch_a1":1,"batch_a2":1,"batch_a3":1,)"
        R"("batch_a4":1,"batch_b1":1,"batch_b2":1,"batch_b3":1,"batch_b4":1,"bias_flag":false,"bub_double_num":1.0,)"
        R"("fused_double_operand_num":0.0,"k":1024,"k_align_flag":true,"l1_fused_num":0.0,"m":128,"m_align_flag":true,)"
        R"("n":4096,"n_align_flag":true,"out_dtype":1,"out_format":2,"reserved_bool":false,"reserved_params1":0,)"
        R"("reserved_params2":0,"reserved_params3":0,"reserved_params4":0,"reserved_params5":0,"reserved_params6":0,)"
        R"("trans_a_flag":false,"trans_b_flag":false})";
    CHECK(mkdir("one", 0700) == 0);
    std::ofstream("one" + name) << R"({"id":0,"info_dict":)" << info
                                << R"(,"knowledge":{"baseM":64,"usedCoreNum":24},"op":"MatMulV3","version":0})" << "\n";
    const AoeBankMerged merged = aoe::merge_banks({"one"}, "all");
    CHECK(merged.added == 1 && merged.files == 1);
    CHECK(aoe::merge_banks({"one"}, "all").kept == 1);
    aoe::Bank first = aoe::Bank::open({"all"});
    const aoe::Bank bank = std::move(first);
    const std::optional<std::string> found = bank.find("MatMulV3", info);
    CHECK(found && *found == R"({"baseM":64,"usedCoreNum":24})");
    CHECK(bank.find_case(R"({"op":"MatMul","m":128,"k":1024,"n":4096,"dtype":"float16"})") == found);
    CHECK(!bank.find_case(R"({"op":"MatMul","m":48,"k":1024,"n":4096,"dtype":"float16"})"));
    CHECK(aoe::Bank::try_open({"none"}).status() == AOE_ERROR_IO);
    CHECK(bank.try_find("MatMulV3", "no key").status() == AOE_ERROR_INVALID_PARAM);
    CHECK(!aoe::try_merge_banks({"none"}, "all"));
}

TEST(a_search_finds_the_best_of_its_space) {
    const char *space = R"({"parameters":[{"name":"a","values":[5,1,3]},{"name":"b","values":[2,4]}]})";
    const double a[] = {5, 1, 3}, b[] = {2, 4};
    aoe::Search first = aoe::Search::create(space, 2, {{"algorithm", "random"}, {"seed", "3"}});
    aoe::Search search = std::move(first);
    int trials = 0;
    while (auto trial = search.ask()) {
        search.tell(trial->id, a[trial->indices[0]] * b[trial->indices[1]]);
        trials++;
    }
    CHECK(trials == 6);
    CHECK(search.best().cost == 2 && search.best().indices == (std::vector<std::uint32_t>{1, 0}));
    CHECK(search.report().find("\"stop\":\"exhausted\"") != std::string::npos);
    try {
        aoe::Search::create("{\"parameters\":[]}", 0);
        CHECK(false);
    } catch (const aoe::Error &error) {
        CHECK(error.status() == AOE_ERROR_INVALID_PARAM);
    }
    CHECK(first.get() == nullptr);
}
