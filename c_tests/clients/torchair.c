/*
 * torchair: opens the library and initialises it again for every graph. CANN documents status 4 for the
 * second time, and so does this ABI; the drop-in library is the one that bears with torchair.
 */
#include "client.h"

static struct client aoe;

static void tune_graph(const char *work_path, AoeStatus initialized) {
    const AoeOption options[] = {{"work_path", work_path}, {"job_type", "2"}};
    AoeGraph *graph = small_network();
    AoeTensor input = first_step_input();
    AoeSessionId session = 0;
    client_open(&aoe, RTLD_NOW);
    CHECK_STATUS(initialized, aoe.initialize(options, COUNT(options)));
    CHECK_OK(aoe.create_session(&session));
    CHECK_OK(aoe.set_ge_session(session, &ge_session));
    CHECK_OK(aoe.set_tuning_graph(session, graph));
    CHECK_OK(aoe.set_tuning_graph_input(session, &input, 1));
    TUNED_OR_NOTHING_TO_TUNE(aoe.tuning_graph(session, NULL, 0));
    CHECK_OK(aoe.destroy_session(session));
    AoeGraphDestroy(graph);
}

TEST(torchair_call_order) {
    CHECK(mkdir("work", 0700) == 0);
    tune_graph("work", AOE_SUCCESS);
    tune_graph("work", AOE_ERROR_REPEAT_INITIALIZE);
    CHECK_OK(aoe.finalize());
}

TEST(torchair_sends_the_name_of_a_configuration_file_that_must_exist) {
    const AoeOption options[] = {{"aoe_config_file", "no-such.json"}};
    AoeSessionId session = 0;
    AoeGraph *graph = small_network();
    client_open(&aoe, RTLD_NOW);
    CHECK_OK(aoe.initialize(QUICK));
    CHECK_OK(aoe.create_session(&session));
    CHECK_OK(aoe.set_tuning_graph(session, graph));
    CHECK(aoe.tuning_graph(session, options, COUNT(options)) != AOE_SUCCESS);
    CHECK(strstr(AoeGetLastError(), "no-such.json") != NULL);
    AoeGraphDestroy(graph);
    CHECK_OK(aoe.finalize());
}
