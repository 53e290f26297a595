/* The life of the library and its sessions: every order of calls has a defined status. */
#include "support/network.h"

TEST(use_before_initialize) {
    AoeSessionId session = 77;
    AoeGraph *graph = small_network();
    CHECK_ERROR(AOE_ERROR_UNINITIALIZED, "AoeInitialize", AoeCreateSession(&session));
    CHECK(session == 77);
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeSetTuningGraph(1, graph));
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeTuningGraph(1, NULL, 0));
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeCancel(1));
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeDestroySession(1));
    AoeGraphDestroy(graph);
}

TEST(double_initialize) {
    CHECK_OK(AoeInitialize(NULL, 0));
    CHECK_ERROR(AOE_ERROR_REPEAT_INITIALIZE, "AoeFinalize", AoeInitialize(NULL, 0));
    AoeSessionId session = 0;
    CHECK_OK(AoeCreateSession(&session));
    CHECK_STATUS(AOE_ERROR_REPEAT_INITIALIZE, AoeInitialize(NULL, 0));
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

TEST(initialize_with_a_bad_option_leaves_the_library_uninitialized) {
    const AoeOption unknown[] = {{"job_type", "2"}, {"jobtype", "2"}};
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "`job_type`", AoeInitialize(unknown, 2));
    const AoeOption malformed[] = {{"seed", "one"}};
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "one", AoeInitialize(malformed, 1));
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeFinalize());
    CHECK_OK(AoeInitialize(NULL, 0));
    CHECK_OK(AoeFinalize());
}

TEST(finalize_when_never_initialized) {
    CHECK_ERROR(AOE_ERROR_UNINITIALIZED, "AoeInitialize", AoeFinalize());
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeFinalize());
}

TEST(double_finalize) {
    CHECK_OK(AoeInitialize(NULL, 0));
    CHECK_OK(AoeFinalize());
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeFinalize());
}

TEST(reinitialize_after_finalize) {
    for (int round = 0; round < 3; round++) {
        CHECK_OK(AoeInitialize(QUICK));
        AoeSessionId session = small_session();
        CHECK_OK(AoeTuningGraph(session, NULL, 0));
        CHECK_OK(AoeDestroySession(session));
        CHECK_OK(AoeFinalize());
    }
}

TEST(tune_after_finalize) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeFinalize());
    CHECK_STATUS(AOE_ERROR_UNINITIALIZED, AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeFinalize());
}

TEST(destroy_twice) {
    AoeSessionId session = 0;
    CHECK_OK(AoeInitialize(NULL, 0));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeDestroySession(session));
    CHECK_ERROR(AOE_ERROR_INVALID_SESSION, "destroyed", AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

TEST(finalize_with_live_sessions) {
    AoeSessionId sessions[8];
    CHECK_OK(AoeInitialize(QUICK));
    for (int i = 0; i < 8; i++) sessions[i] = small_session();
    CHECK_OK(AoeFinalize());
    CHECK_OK(AoeInitialize(QUICK));
    for (int i = 0; i < 8; i++) CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeDestroySession(sessions[i]));
    AoeSessionId fresh = small_session();
    for (int i = 0; i < 8; i++) CHECK(sessions[i] != fresh);
    CHECK_OK(AoeDestroySession(fresh));
    CHECK_OK(AoeFinalize());
}

TEST(tune_without_a_graph) {
    AoeSessionId session = 0;
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_ERROR(AOE_ERROR_NO_GRAPH, "AoeSetTuningGraph", AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

TEST(null_drop) {
    AoeGraphDestroy(NULL);
    CHECK_OK(AoeInitialize(NULL, 0));
    CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeDestroySession(0));
    CHECK_OK(AoeFinalize());
}

TEST(graphs_outlive_sessions_and_the_library) {
    AoeGraph *graph = small_network(), *tuned = NULL;
    AoeSessionId session = 0;
    size_t count = 0;
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeGetTunedGraph(session, &tuned));
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
    CHECK_OK(AoeGraphGetNodeCount(tuned, &count));
    CHECK(count == 6);
    AoeGraphDestroy(tuned);
}

TEST(every_object_can_be_left_to_the_end_of_the_process) {
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeTuningGraph(small_session(), NULL, 0));
    AoeGraph *leaked = small_network();
    (void)leaked;
#if defined(CHECK_SANITIZED)
    AoeGraphDestroy(leaked); /* the sanitizer rightly calls it a leak */
#endif
}
