/* The library loaded and unloaded at run time, by a program that is not linked with it. */
#include "support/loaded.h"

#include <dirent.h>
#include <pthread.h>

typedef const AoeApi *(*get_api)(uint32_t);

static const AoeApi *load(void **handle) {
    get_api get = NULL;
    *handle = load_library(RTLD_NOW | RTLD_LOCAL);
    LOOK_UP(*handle, "AoeGetApi", get);
    const AoeApi *api = get(AOE_API_VERSION);
    CHECK(api != NULL && api->struct_size >= sizeof(AoeApi));
    return api;
}

static long resident_kib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    if (file != NULL) fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int open_files(void) {
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) return 0;
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count;
}

static void use(const AoeApi *api) {
    AoeGraph *graph = NULL;
    AoeSessionId session = 0;
    const AoeOption job = {"job_type", "2"};
    CHECK(api->Initialize(&job, 1) == AOE_SUCCESS);
    CHECK(api->CreateSession(&session) == AOE_SUCCESS);
    CHECK(api->GraphCreate("net", &graph) == AOE_SUCCESS);
    CHECK(api->SetTuningGraph(session, graph) == AOE_SUCCESS);
    CHECK(api->TuningGraph(session, NULL, 0) == AOE_ERROR_NON_OPTIMIZE_GRAPH);
    CHECK(api->GetLastError()[0] != '\0');
    api->GraphDestroy(graph);
    CHECK(api->Finalize() == AOE_SUCCESS);
}

TEST(dlopen_dlclose_1000) {
    void *handle = NULL;
    long before = 0;
    int files = 0;
#if defined(CHECK_SANITIZED) /* what grows is judged by the plain program; a fault of memory shows sooner */
    const int rounds = 200;
#else
    const int rounds = 1000;
#endif
    for (int round = 0; round < rounds; round++) {
        use(load(&handle));
        CHECK(dlclose(handle) == 0);
        if (round == 100) before = resident_kib(), files = open_files();
    }
    CHECK(open_files() == files);
#if !defined(CHECK_SANITIZED) /* which keeps freed memory for a while */
    CHECK(resident_kib() - before < 1024);
#else
    (void)before;
#endif
}

TEST(dlclose_with_a_live_session) {
    void *handle = NULL;
    AoeSessionId session = 0;
    const AoeApi *api = load(&handle);
    CHECK(api->Initialize(NULL, 0) == AOE_SUCCESS);
    CHECK(api->CreateSession(&session) == AOE_SUCCESS);
    CHECK(dlclose(handle) == 0);
    /* The code stays mapped, and so does its state. */
    CHECK(load(&handle) == api);
    CHECK(api->DestroySession(session) == AOE_SUCCESS);
    CHECK(api->Finalize() == AOE_SUCCESS);
}

static void *use_in_thread(void *payload) {
    void *handle = NULL;
    (void)payload;
    use(load(&handle));
    CHECK(dlclose(handle) == 0);
    return NULL;
}

TEST(dlopen_and_dlclose_in_threads_that_end) {
    for (int round = 0; round < 200; round++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, use_in_thread, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

/* A panic makes Rust read the library's symbols for its backtrace; that must not pile up. */
TEST(dlopen_panic_dlclose_does_not_pile_up_memory) {
    long before = 0;
    check_noise_allowed = 1;
    setenv("RUST_BACKTRACE", "1", 1);
    for (int round = 0; round < 60; round++) {
        AoeStatus (*cause_panic)(int32_t) = NULL;
        void *handle = load_library(RTLD_NOW | RTLD_LOCAL), *symbol = dlsym(handle, "AoeTestPanic");
        if (symbol == NULL) SKIP("the library was built without the feature test-hooks");
        memcpy(&cause_panic, &symbol, sizeof symbol);
        CHECK(cause_panic(0) == AOE_ERROR_INTERNAL);
        CHECK(dlclose(handle) == 0);
        if (round == 10) before = resident_kib();
    }
#if !defined(CHECK_SANITIZED)
    CHECK(resident_kib() - before < 4096);
#else
    (void)before;
#endif
}

TEST(a_table_of_another_version_is_refused) {
    get_api get = NULL;
    LOOK_UP(load_library(RTLD_NOW), "AoeGetApi", get);
    CHECK(get(0) == NULL && get(AOE_API_VERSION + 1) == NULL && get(UINT32_MAX) == NULL);
}

#define SAME(field)                                                                                                   \
    do {                                                                                                              \
        void *found = dlsym(handle, "Aoe" #field);                                                                    \
        CHECK(found != NULL && memcmp(&found, &api->field, sizeof found) == 0);                                       \
        fields++;                                                                                                     \
    } while (0)

TEST(each_field_of_the_table_is_the_function_of_its_name) {
    void *handle = NULL;
    const AoeApi *api = load(&handle);
    size_t fields = 1;
    SAME(GetVersion);
    SAME(GetLastError);
    SAME(GetStatusName);
    SAME(Initialize);
    SAME(Finalize);
    SAME(GraphCreate);
    SAME(GraphLoadFile);
    SAME(GraphLoadMemory);
    SAME(GraphSaveFile);
    SAME(GraphAddInput);
    SAME(GraphAddConst);
    SAME(GraphAddNode);
    SAME(GraphAddEdge);
    SAME(GraphAddOutput);
    SAME(GraphSetOutputDesc);
    SAME(GraphSetAttrInt);
    SAME(GraphSetAttrFloat);
    SAME(GraphSetAttrBool);
    SAME(GraphSetAttrString);
    SAME(GraphSetAttrDataType);
    SAME(GraphSetAttrInts);
    SAME(GraphSetAttrFloats);
    SAME(GraphGetNodeCount);
    SAME(GraphFindNode);
    SAME(GraphDestroy);
    SAME(CreateSession);
    SAME(DestroySession);
    SAME(SetGeSession);
    SAME(SetDependGraphs);
    SAME(SetDependGraphsInputs);
    SAME(SetTuningGraph);
    SAME(SetTuningGraphInput);
    SAME(TuningGraph);
    SAME(Cancel);
    SAME(GetReport);
    SAME(GetTunedGraph);
    SAME(GetSessionError);
    SAME(SetProgressCallback);
    SAME(SetLogCallback);
    SAME(GraphGetNodeAttrString);
    SAME(Simulate);
    SAME(SearchCreate);
    SAME(SearchAsk);
    SAME(SearchTell);
    SAME(SearchBest);
    SAME(SearchGetReport);
    SAME(SearchDestroy);
    SAME(BankOpen);
    SAME(BankQuery);
    SAME(BankMerge);
    SAME(BankClose);
    SAME(RegisterBackend);
    SAME(CheckOption);
    SAME(Tiling);
    SAME(Candidates);
    CHECK(fields * sizeof(void *) == sizeof(AoeApi));
}
