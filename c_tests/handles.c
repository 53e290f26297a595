/* Session ids: who holds a wrong one gets an error, and sessions do not get into each other's way. */
#include "support/network.h"

#include <pthread.h>

TEST(stale_and_foreign_handles) {
    AoeSessionId live = 0, stale = 0;
    AoeGraph *graph = small_network(), *tuned = NULL;
    size_t size = 0;
    int ge_session = 0;
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeCreateSession(&stale));
    CHECK_OK(AoeDestroySession(stale));
    CHECK_OK(AoeCreateSession(&live));
    CHECK(live != 0 && live != stale);
    const AoeSessionId wrong[] = {0, stale, ~(AoeSessionId)0, live ^ 1, live + 1, live - 1, live ^ ((AoeSessionId)1 << 32), live + ((AoeSessionId)2 << 32),
                                  (AoeSessionId)(uintptr_t)graph};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        AoeSessionId id = wrong[i];
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSetGeSession(id, &ge_session));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSetTuningGraph(id, graph));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSetTuningGraphInput(id, NULL, 0));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSetDependGraphs(id, NULL, 0));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSetDependGraphsInputs(id, NULL, NULL, 0));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSetProgressCallback(id, NULL, NULL));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeTuningGraph(id, NULL, 0));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeCancel(id));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeGetReport(id, NULL, &size));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeGetSessionError(id, NULL, &size));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeGetTunedGraph(id, &tuned));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeDestroySession(id));
    }
    CHECK_OK(AoeDestroySession(live));
    CHECK(tuned == NULL);
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

TEST(ids_are_never_zero_and_not_given_out_again) {
    enum { ROUNDS = 2000 };
    static AoeSessionId seen[ROUNDS];
    CHECK_OK(AoeInitialize(NULL, 0));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(AoeCreateSession(&seen[i]));
        CHECK(seen[i] != 0);
        for (int j = 0; j < i; j++) CHECK(seen[i] != seen[j]);
        CHECK_OK(AoeDestroySession(seen[i]));
    }
    CHECK_OK(AoeFinalize());
}

static void *live_a_session(void *payload) {
    const AoeGraph *graph = payload;
    for (int round = 0; round < 8; round++) {
        AoeSessionId session = 0;
        CHECK_OK(AoeCreateSession(&session));
        CHECK_OK(AoeSetTuningGraph(session, graph));
        CHECK_OK(AoeTuningGraph(session, NULL, 0));
        free(report_of(session));
        CHECK_OK(AoeDestroySession(session));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeDestroySession(session));
    }
    return NULL;
}

TEST(many_sessions_in_many_threads) {
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    AoeGraph *graph = small_network();
    CHECK_OK(AoeInitialize(QUICK));
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, live_a_session, graph) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

/* Holds a tuning inside its progress callback until it is told to go on. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int held, open;
};

static int32_t hold(const AoeProgress *progress, void *payload) {
    struct gate *gate = payload;
    CHECK(progress->struct_size >= sizeof *progress);
    pthread_mutex_lock(&gate->lock);
    gate->held = 1;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open) pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    return 0;
}

static void wait_until_held(struct gate *gate) {
    pthread_mutex_lock(&gate->lock);
    while (!gate->held) pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void open_gate(struct gate *gate) {
    pthread_mutex_lock(&gate->lock);
    gate->open = 1;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static AoeStatus tuned_with;

static void *tune(void *payload) {
    tuned_with = AoeTuningGraph(*(AoeSessionId *)payload, NULL, 0);
    return NULL;
}

/* The call fails naming the culprit, and its session has the very text of this thread. */
#define CHECK_KEPT(expected, culprit, session, call)                                                                  \
    do {                                                                                                              \
        char check_text[1024], check_kept[1024];                                                                      \
        size_t check_size = sizeof check_kept;                                                                        \
        CHECK_ERROR(expected, culprit, call);                                                                         \
        snprintf(check_text, sizeof check_text, "%s", AoeGetLastError());                                             \
        CHECK_OK(AoeGetSessionError(session, check_kept, &check_size));                                               \
        if (strcmp(check_text, check_kept) != 0)                                                                      \
            CHECK_FAIL("%s: the session has \"%s\", not \"%s\"", #call, check_kept, check_text);                     \
    } while (0)

TEST(busy_when_two_threads_tune_one_session) {
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    AoeGraph *graph = small_network();
    pthread_t first;
    size_t size = 0;
    int ge_session = 0;
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeSetProgressCallback(session, hold, &gate));
    CHECK(pthread_create(&first, NULL, tune, &session) == 0);
    wait_until_held(&gate);

    CHECK_ERROR(AOE_ERROR_BUSY, "session", AoeTuningGraph(session, NULL, 0));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeSetTuningGraph(session, graph));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeSetTuningGraphInput(session, NULL, 0));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeSetDependGraphs(session, NULL, 0));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeSetGeSession(session, &ge_session));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeSetProgressCallback(session, NULL, NULL));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeDestroySession(session));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeFinalize());
    CHECK_KEPT(AOE_ERROR_INVALID_PARAM, "`graph`", session, AoeSetTuningGraph(session, NULL));
    CHECK_KEPT(AOE_ERROR_BUSY, "session", session, AoeDestroySession(session));
    CHECK_OK(AoeGetSessionError(session, NULL, &size));
    AoeSessionId other = small_session();
    CHECK_OK(AoeTuningGraph(other, NULL, 0));
    CHECK_OK(AoeDestroySession(other));

    open_gate(&gate);
    CHECK(pthread_join(first, NULL) == 0);
    CHECK(tuned_with == AOE_SUCCESS);
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeDestroySession(session));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

TEST(cancel_from_another_thread) {
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
    pthread_t tuning;
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeSetProgressCallback(session, hold, &gate));
    CHECK(pthread_create(&tuning, NULL, tune, &session) == 0);
    wait_until_held(&gate);
    CHECK_OK(AoeCancel(session));
    open_gate(&gate);
    CHECK(pthread_join(tuning, NULL) == 0);
    CHECK(tuned_with == AOE_ERROR_CANCELLED);
    /* A cancel concerns the tuning it was meant for, not the next one. */
    CHECK_OK(AoeSetProgressCallback(session, NULL, NULL));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

TEST(cancel_without_a_tuning_changes_nothing) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeCancel(session));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeCancel(session));
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

static void *fail_elsewhere(void *payload) {
    CHECK_STATUS(AOE_ERROR_NO_GRAPH, AoeTuningGraph(*(AoeSessionId *)payload, NULL, 0));
    return NULL;
}

TEST(a_session_keeps_its_error_for_other_threads) {
    AoeSessionId session = 0;
    pthread_t other;
    char text[512] = "";
    size_t size = sizeof text;
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeGetSessionError(session, text, &size));
    CHECK(size == 1 && text[0] == '\0');
    CHECK(pthread_create(&other, NULL, fail_elsewhere, &session) == 0);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(AoeGetLastError()[0] == '\0');
    size = sizeof text;
    CHECK_OK(AoeGetSessionError(session, text, &size));
    CHECK(strstr(text, "no tuning graph") != NULL && size == strlen(text) + 1);
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

TEST(a_session_keeps_the_error_of_every_call_that_names_it) {
    AoeSessionId session = 0;
    AoeGraph *graph = NULL;
    size_t size = 0;
    const int64_t dims[] = {1};
    const AoeTensor bad = tensor_of(5, dims, 1);
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_KEPT(AOE_ERROR_INVALID_PARAM, "`ge_session`", session, AoeSetGeSession(session, NULL));
    CHECK_KEPT(AOE_ERROR_INVALID_PARAM, "`graphs`", session, AoeSetDependGraphs(session, NULL, 1));
    CHECK_KEPT(AOE_ERROR_INVALID_PARAM, "`inputs`", session, AoeSetDependGraphsInputs(session, NULL, NULL, 1));
    CHECK_KEPT(AOE_ERROR_INVALID_PARAM, "`graph`", session, AoeSetTuningGraph(session, NULL));
    CHECK_KEPT(AOE_ERROR_INVALID_PARAM, "no data type", session, AoeSetTuningGraphInput(session, &bad, 1));
    CHECK_KEPT(AOE_ERROR_INVALID_PARAM, "`options`", session, AoeTuningGraph(session, NULL, 1));
    CHECK_KEPT(AOE_ERROR_NOT_FOUND, "report", session, AoeGetReport(session, NULL, &size));
    CHECK_KEPT(AOE_ERROR_NOT_FOUND, "tuned graph", session, AoeGetTunedGraph(session, &graph));
    CHECK_KEPT(AOE_ERROR_INVALID_PARAM, "`size`", session, AoeGetReport(session, NULL, NULL));

    /* Asking for the text does not replace it, not even when asking fails. */
    char text[512] = "";
    size = 1;
    CHECK_STATUS(AOE_ERROR_BUFFER_TOO_SMALL, AoeGetSessionError(session, text, &size));
    CHECK_OK(AoeGetSessionError(session, text, &size));
    CHECK(strstr(text, "`size`") != NULL);
    /* Nor does another session's failure, nor a success. */
    AoeSessionId other = 0;
    CHECK_OK(AoeCreateSession(&other));
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeSetGeSession(other, NULL));
    CHECK_OK(AoeCancel(session));
    size = sizeof text;
    CHECK_OK(AoeGetSessionError(session, text, &size));
    CHECK(strstr(text, "`size`") != NULL && graph == NULL);
    CHECK_OK(AoeDestroySession(other));
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}
