/* A forked child of a process that has initialised the library. */
#include "support/network.h"

#include <pthread.h>
#include <sys/wait.h>

/* Runs `child` in a forked child, which reports through check.h like its parent. */
static void in_child(void (*child)(void)) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        child();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static AoeSessionId session;
static AoeGraph *graph;
static AoeSearch *search;

#define SPACE "{\"parameters\":[{\"name\":\"a\",\"values\":[1,2]}]}"

static void every_search_call_is_refused(void) {
    AoeSearch *made = NULL;
    uint32_t at = 0;
    uint64_t trial = 0;
    double cost = 0;
    size_t size = 0;
    CHECK_ERROR(AOE_ERROR_FORKED, "process", AoeSearchCreate(SPACE, NULL, 0, &made));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSearchAsk(search, &at, 1, &trial));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSearchTell(search, 0, AOE_TRIAL_FAILED, 0));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSearchBest(search, &at, 1, &cost));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSearchGetReport(search, NULL, &size));
    AoeSearchDestroy(search);
    CHECK(made == NULL);
}

static void every_call_is_refused(void) {
    AoeSessionId id = 0;
    AoeGraph *made = NULL;
    AoeNodeId node = 0;
    size_t size = 0;
    int ge_session = 0;
    const int64_t dims[] = {1};
    AoeTensor desc = tensor_of(AOE_DT_FLOAT, dims, 1);
    CHECK_ERROR(AOE_ERROR_FORKED, "process", AoeInitialize(NULL, 0));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeFinalize());
    CHECK_STATUS(AOE_ERROR_FORKED, AoeCreateSession(&id));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeDestroySession(session));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSetGeSession(session, &ge_session));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSetDependGraphs(session, NULL, 0));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSetDependGraphsInputs(session, NULL, NULL, 0));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSetTuningGraph(session, graph));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSetTuningGraphInput(session, NULL, 0));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeTuningGraph(session, NULL, 0));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeCancel(session));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGetReport(session, NULL, &size));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGetTunedGraph(session, &made));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGetSessionError(session, NULL, &size));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSetProgressCallback(session, NULL, NULL));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSetLogCallback(NULL, NULL));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGraphCreate("x", &made));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGraphLoadFile("x.onnx", NULL, 0, &made));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGraphLoadMemory("x", 1, NULL, 0, &made));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGraphSaveFile(graph, "x.air"));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGraphAddInput(graph, "y", &desc, &node));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGraphGetNodeCount(graph, &size));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeGraphGetNodeAttrString(graph, "relu", "mode", NULL, &size));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeSimulate("{}", NULL, 0, NULL, &size));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeTiling("{}", NULL, 0, NULL, &size));
    CHECK_STATUS(AOE_ERROR_FORKED, AoeCandidates("{}", NULL, 0, NULL, &size));
    every_search_call_is_refused();
    AoeGraphDestroy(graph);
    CHECK(AoeGetVersion() == AOE_VERSION && AoeGetApi(AOE_API_VERSION) != NULL);
}

TEST(forked_child) {
    CHECK_OK(AoeInitialize(QUICK));
    session = small_session();
    graph = small_network();
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    for (int i = 0; i < 20; i++) in_child(every_call_is_refused);
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeDestroySession(session));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

static int32_t fork_now(const AoeProgress *progress, void *payload) {
    (void)progress;
    (void)payload;
    in_child(every_call_is_refused);
    return 0;
}

TEST(forked_child_while_tuning) {
    CHECK_OK(AoeInitialize(QUICK));
    session = small_session();
    graph = small_network();
    CHECK_OK(AoeSetProgressCallback(session, fork_now, NULL));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

static void initialize_and_tune(void) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId own = small_session();
    CHECK_OK(AoeTuningGraph(own, NULL, 0));
    CHECK_OK(AoeDestroySession(own));
    CHECK_OK(AoeFinalize());
}

TEST(a_child_forked_before_initialize_has_a_library_of_its_own) {
    in_child(initialize_and_tune);
    initialize_and_tune();
    in_child(initialize_and_tune);
}

static void search_a_little(void) {
    AoeSearch *own = NULL;
    uint32_t at = 0;
    uint64_t trial = 0;
    CHECK_OK(AoeSearchCreate(SPACE, NULL, 0, &own));
    CHECK_OK(AoeSearchAsk(own, &at, 1, &trial));
    AoeSearchDestroy(own);
}

TEST(a_child_forked_while_searches_live_has_none) {
    uint32_t at = 0;
    uint64_t trial = 0;
    in_child(search_a_little);
    CHECK_OK(AoeSearchCreate(SPACE, NULL, 0, &search));
    in_child(every_search_call_is_refused);
    CHECK_OK(AoeSearchAsk(search, &at, 1, &trial));
    AoeSearchDestroy(search);
    in_child(search_a_little);
}

/* Threads that do something over and over until they are told to stop. */
static int stopped;
static int rounds;

static int goes_on(void) {
    __atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
    return !__atomic_load_n(&stopped, __ATOMIC_RELAXED);
}

static void *begin_and_end_lives(void *unused) {
    while (goes_on()) {
        CHECK_OK(AoeInitialize(NULL, 0));
        CHECK_OK(AoeFinalize());
    }
    return unused;
}

static void *begin_and_end_searches(void *unused) {
    while (goes_on()) {
        AoeSearch *made = NULL;
        CHECK_OK(AoeSearchCreate(SPACE, NULL, 0, &made));
        AoeSearchDestroy(made);
    }
    return unused;
}

/* Forks again and again while a thread does this; a child that hangs is killed, and fails the case. */
static void fork_while(void *(*what)(void *), void (*child)(void)) {
    enum { kForks = 400, kSeconds = 30 };
    pthread_t thread;
#if defined(CHECK_SANITIZED)
    /* Unlike glibc's, whose fork takes it: a child of this case was seen waiting for it in malloc, below the answer. */
    SKIP("the sanitizer's allocator leaves a child the lock that another thread held");
#endif
    CHECK(pthread_create(&thread, NULL, what, NULL) == 0);
    for (int i = 0; i < kForks; i++) {
        /* At another moment each time, and not all in one round. */
        for (int seen = __atomic_load_n(&rounds, __ATOMIC_RELAXED); seen == __atomic_load_n(&rounds, __ATOMIC_RELAXED);)
            sched_yield();
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            alarm(kSeconds);
            child();
            _exit(0);
        }
        int status = 0;
        CHECK(waitpid(pid, &status, 0) == pid);
        if (status != 0) CHECK_FAIL("child %d of %d: %s", i, (int)kForks, WIFSIGNALED(status) ? "it hung" : "see above");
    }
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Forked in the middle of a life or of a call, or between lives: told so, or with a library of its own. */
static void be_turned_away_or_initialize(void) {
    AoeStatus status = AoeFinalize();
    if (status == AOE_ERROR_FORKED) {
        CHECK_STATUS(AOE_ERROR_FORKED, AoeInitialize(NULL, 0));
    } else {
        CHECK(status == AOE_ERROR_UNINITIALIZED);
        CHECK_OK(AoeInitialize(NULL, 0));
        CHECK_OK(AoeFinalize());
    }
}

TEST(a_child_forked_at_any_moment_of_initialise_and_finalise_does_not_hang) {
    fork_while(begin_and_end_lives, be_turned_away_or_initialize);
}

static void be_turned_away_or_search(void) {
    AoeSearch *made = NULL;
    AoeStatus status = AoeSearchCreate(SPACE, NULL, 0, &made);
    CHECK(status == AOE_SUCCESS || status == AOE_ERROR_FORKED);
    AoeSearchDestroy(made);
}

TEST(a_child_forked_at_any_moment_of_a_search_does_not_hang) {
    fork_while(begin_and_end_searches, be_turned_away_or_search);
}
