/* TFAdapter 2.x: a session for every execution of a graph; a failed one is leaked. */
#include "client.h"

static struct client aoe;

TEST(tfadapter2_call_order) {
    const AoeOption options[] = {{"work_path", "./"}, {"job_type", "2"}}, tuning[] = {{"ge.aoe_config_file", ""}};
    AoeGraph *graph = small_network();
    AoeTensor input = first_step_input();
    client_open(&aoe, RTLD_NOW);
    CHECK_OK(aoe.initialize(options, COUNT(options)));
    for (int execution = 0; execution < 3; execution++) {
        AoeSessionId session = 0;
        CHECK_OK(aoe.create_session(&session));
        CHECK(session != 0);
        CHECK_OK(aoe.set_ge_session(session, &ge_session));
        CHECK_OK(aoe.set_tuning_graph(session, graph));
        CHECK_OK(aoe.set_tuning_graph_input(session, &input, 1));
        TUNED_OR_NOTHING_TO_TUNE(aoe.tuning_graph(session, tuning, COUNT(tuning)));
        CHECK_OK(aoe.destroy_session(session));
    }
    AoeGraphDestroy(graph);
    CHECK_OK(aoe.finalize());
    CHECK(dlclose(aoe.handle) == 0);
}

TEST(tfadapter2_leaks_the_session_of_a_failed_graph) {
    const AoeOption options[] = {{"work_path", "./"}, {"job_type", "2"}};
    AoeSessionId leaked = 0, next = 0;
    client_open(&aoe, RTLD_NOW);
    CHECK_OK(aoe.initialize(options, COUNT(options)));
    CHECK_OK(aoe.create_session(&leaked));
    CHECK_OK(aoe.set_ge_session(leaked, &ge_session));
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, aoe.set_tuning_graph(leaked, NULL));
    CHECK_OK(aoe.create_session(&next));
    CHECK(next != leaked);
    CHECK_OK(aoe.destroy_session(next));
    CHECK_OK(aoe.finalize());
    CHECK(dlclose(aoe.handle) == 0);
}
