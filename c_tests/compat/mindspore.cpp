// MindSpore training: loaded RTLD_LAZY | RTLD_LOCAL, seven functions; neither inputs nor depend graphs. A failed
// initialisation counts as done.
#include "client.h"

static ge::Session ge_session;

static void tune(const Functions &aoe, const char *precision_mode) {
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, aoe.create_session(session));
    EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, &ge_session));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, product()));
    EXPECT(AOE_SUCCESS, aoe.tuning_graph(session, {{"framework", "1"}, {"precision_mode", precision_mode}, {"log", "error"}}));
    EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
}

static void call_order_of(const char *job, const char *kind) {
    const Library library(RTLD_LAZY | RTLD_LOCAL);
    Functions aoe;
    aoe.find_seven(library);
    EXPECT(AOE_SUCCESS, aoe.initialize({{"job_type", job}}));
    tune(aoe, "allow_fp32_to_fp16");
    tune(aoe, "must_keep_origin_dtype");
    EXPECT(AOE_SUCCESS, aoe.finalize());
    CHECK(results_in(".", kind) == 2);
}

TEST(call_order) { call_order_of("2", "opat"); }

TEST(call_order_of_subgraphs) { call_order_of("1", "sgat"); }

TEST(a_failed_initialisation_that_counts_as_done) {
    const Library library(RTLD_LAZY | RTLD_LOCAL);
    Functions aoe;
    aoe.find_seven(library);
    EXPECT_NAMED(AOE_ERROR_INVALID_OPTION_ATTR, "job_type", aoe.initialize({{"job_type", "7"}}));
    uint64_t session = 0;
    EXPECT(AOE_ERROR_UNINITIALIZED, aoe.create_session(session));
    EXPECT(AOE_SUCCESS, aoe.finalize());
}
