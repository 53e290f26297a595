/* TFAdapter 1.x: one initialisation, a session for each GeOp, finalise after GE's and again at the end. */
#include "client.h"

#include <pthread.h>

static struct client aoe;

/* What an executor thread does for one GeOp. */
static void compute(const AoeGraph *graph) {
    AoeSessionId session = 0;
    AoeTensor input = first_step_input();
    const AoeOption options[] = {{"ge.recompute", ""}, {"ge.aoe_config_file", ""}};
    CHECK_OK(aoe.create_session(&session));
    CHECK_OK(aoe.set_ge_session(session, &ge_session));
    CHECK_OK(aoe.set_tuning_graph(session, graph));
    CHECK_OK(aoe.set_tuning_graph_input(session, &input, 1));
    TUNED_OR_NOTHING_TO_TUNE(aoe.tuning_graph(session, options, COUNT(options)));
    CHECK_OK(aoe.destroy_session(session));
}

static void *executor(void *graph) {
    compute(graph);
    return NULL;
}

TEST(tfadapter1_call_order) {
    const AoeOption options[] = {{"work_path", "./"}, {"job_type", "2"}, {"ge.resourceConfigPath", ""}};
    AoeGraph *graphs[] = {small_network(), small_network()};
    pthread_t thread;
    client_open(&aoe, RTLD_NOW);
    CHECK_OK(aoe.initialize(options, COUNT(options)));
    compute(graphs[0]);
    /* The second GeOp runs on another thread and opens the library again. */
    struct client again;
    client_open(&again, RTLD_NOW);
    CHECK(again.initialize == aoe.initialize);
    CHECK(pthread_create(&thread, NULL, executor, graphs[1]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(aoe.finalize());
    CHECK(dlclose(aoe.handle) == 0);
    /* Process close: opened once more, finalised once more, the answer ignored. */
    client_open(&aoe, RTLD_NOW);
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, aoe.finalize());
    CHECK(dlclose(aoe.handle) == 0);
    AoeGraphDestroy(graphs[0]);
    AoeGraphDestroy(graphs[1]);
}

TEST(tfadapter1_destroys_the_session_of_a_failed_op) {
    const AoeOption options[] = {{"work_path", "./"}, {"job_type", "2"}};
    AoeSessionId session = 0;
    client_open(&aoe, RTLD_NOW);
    CHECK_OK(aoe.initialize(options, COUNT(options)));
    CHECK_OK(aoe.create_session(&session));
    CHECK_OK(aoe.set_ge_session(session, &ge_session));
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, aoe.set_tuning_graph(session, NULL));
    CHECK_OK(aoe.destroy_session(session));
    CHECK_OK(aoe.finalize());
}
