// The C++ face under -fno-exceptions: only the try_ form exists, and nothing throws.
#include <aoe.hpp>

#include "support/check.h"

#if AOE_HAS_EXCEPTIONS
#error "this file is for -fno-exceptions"
#endif

TEST(tune_without_exceptions) {
    const auto library = aoe::Library::try_initialize({{"job_type", "2"}, {"backend", "simulator"}, {"max_tuning_count", "8"}});
    CHECK(library.ok());
    auto graph = aoe::Graph::try_create("net");
    CHECK(graph.ok());
    auto x = graph->try_input("x", {AOE_DT_FLOAT16, {32, 64}});
    auto w = graph->try_constant("w", {AOE_DT_FLOAT16, {64, 32}});
    CHECK(x && w);
    auto product = graph->try_node("fc", "MatMulV2", {*x, *w});
    CHECK(product && product->try_attr("transpose_x1", false));
    CHECK(graph->try_output(*product));
    auto session = aoe::Session::try_create();
    CHECK(session && session->try_set_graph(*graph));
    CHECK(session->try_on_progress([](const AoeProgress &) { return true; }));
    auto tuned = session->try_tune();
    CHECK(tuned && *tuned);
    auto report = session->try_report();
    CHECK(report && report->find("OPAT") != std::string::npos);
    auto priced = aoe::try_simulate(R"({"op":"MatMul","m":64,"k":64,"n":64})", {{"soc_version", "Ascend910B4"}});
    CHECK(priced && priced->find("\"time_us\":") != std::string::npos);
    CHECK(aoe::try_simulate("{}").status() == AOE_ERROR_INVALID_PARAM);
    CHECK(aoe::try_tiling("{}").status() == AOE_ERROR_INVALID_PARAM);
    auto search = aoe::Search::try_create(R"({"parameters":[{"name":"a","values":[3,1]}]})", 1);
    CHECK(search);
    for (int i = 0; i < 2; i++) {
        auto trial = search->try_ask();
        CHECK(trial && *trial);
        CHECK((*trial)->indices[0] == 1 ? search->try_tell((*trial)->id, 1.0) : search->try_fail((*trial)->id));
    }
    auto over = search->try_ask();
    CHECK(over && !*over);
    auto best = search->try_best();
    CHECK(best && best->indices[0] == 1 && best->cost == 1.0);
    CHECK(search->try_report()->find("exhausted") != std::string::npos);
    CHECK(aoe::Search::try_create("{}", 1).status() == AOE_ERROR_INVALID_PARAM);
    CHECK(session->try_tune({{"seed", "x"}}).status() == AOE_ERROR_INVALID_OPTION_ATTR);
}
