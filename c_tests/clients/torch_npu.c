/* torch_npu, graph mode of 2022: eight sessions, tuned by eight threads at once; no GE session. */
#include "client.h"

#include <pthread.h>

enum { SESSIONS = 8 };

static struct client aoe;
static AoeSessionId sessions[SESSIONS];

static void *tune(void *payload) {
    AoeSessionId session = *(AoeSessionId *)payload;
    AoeGraph *graph = small_network();
    CHECK_OK(aoe.set_tuning_graph(session, graph));
    AoeGraphDestroy(graph);
    TUNED_OR_NOTHING_TO_TUNE(aoe.tuning_graph(session, NULL, 0));
    return NULL;
}

TEST(torch_npu_call_order) {
    /* Its job type comes with AoeCreateSession, which had two arguments then. */
    const AoeOption options[] = {{"tuning_parallel_num", "8"}, {"job_type", "2"}};
    pthread_t threads[SESSIONS];
    client_open(&aoe, RTLD_NOW);
    CHECK_OK(aoe.initialize(options, COUNT(options)));
    for (int i = 0; i < SESSIONS; i++) CHECK_OK(aoe.create_session(&sessions[i]));
    for (int i = 0; i < SESSIONS; i++) CHECK(pthread_create(&threads[i], NULL, tune, &sessions[i]) == 0);
    for (int i = 0; i < SESSIONS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < SESSIONS; i++) CHECK_OK(aoe.destroy_session(sessions[i]));
    CHECK_OK(aoe.finalize());
}
