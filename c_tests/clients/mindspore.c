/* MindSpore training: loaded RTLD_LAZY | RTLD_LOCAL; neither inputs nor depend graphs. */
#include "client.h"

static struct client aoe;

static void tune_graph(const char *precision_mode) {
    const AoeOption options[] = {{"framework", "1"}, {"precision_mode", precision_mode}, {"log", "error"}};
    AoeGraph *graph = small_network();
    AoeSessionId session = 0;
    CHECK_OK(aoe.create_session(&session));
    CHECK_OK(aoe.set_ge_session(session, &ge_session));
    CHECK_OK(aoe.set_tuning_graph(session, graph));
    TUNED_OR_NOTHING_TO_TUNE(aoe.tuning_graph(session, options, COUNT(options)));
    CHECK_OK(aoe.destroy_session(session));
    AoeGraphDestroy(graph);
}

TEST(mindspore_call_order) {
    const AoeOption options[] = {{"job_type", "2"}};
    client_open(&aoe, RTLD_LAZY | RTLD_LOCAL);
    CHECK_OK(aoe.initialize(options, COUNT(options)));
    tune_graph("allow_fp32_to_fp16");
    tune_graph("must_keep_origin_dtype");
    CHECK_OK(aoe.finalize());
    CHECK(dlclose(aoe.handle) == 0);
}

TEST(mindspore_counts_a_failed_initialisation_as_done) {
    const AoeOption wrong[] = {{"job_type", "7"}};
    AoeSessionId session = 0;
    client_open(&aoe, RTLD_LAZY | RTLD_LOCAL);
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "job_type", aoe.initialize(wrong, COUNT(wrong)));
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, aoe.create_session(&session));
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, aoe.finalize());
    CHECK(dlclose(aoe.handle) == 0);
}
