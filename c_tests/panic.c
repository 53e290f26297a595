/* A bug inside the library stops at its border. Needs a library built with the feature test-hooks. */
#include "support/network.h"

#include <dlfcn.h>
#include <pthread.h>

typedef AoeStatus (*panic_function)(int32_t kind);

static AoeStatus cause_panic(int32_t kind) {
    union {
        void *object;
        panic_function function;
    } symbol = {dlsym(RTLD_DEFAULT, "AoeTestPanic")};
    if (symbol.object == NULL) SKIP("the library was built without the feature test-hooks");
    check_noise_allowed = 1; /* Rust's run time reports the bug on stderr */
    return symbol.function(kind);
}

TEST(panic_stops_at_the_border) {
    CHECK_ERROR(AOE_ERROR_INTERNAL, "a fixed text", cause_panic(0));
    CHECK_ERROR(AOE_ERROR_INTERNAL, "a composed text: 1", cause_panic(1));
    CHECK_ERROR(AOE_ERROR_INTERNAL, "index out of bounds", cause_panic(2));
    CHECK_ERROR(AOE_ERROR_INTERNAL, "AoeTestPanic", cause_panic(3));
    CHECK_OK(cause_panic(4));
}

TEST(the_library_works_after_a_panic) {
    CHECK_STATUS(AOE_ERROR_INTERNAL, cause_panic(0));
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_STATUS(AOE_ERROR_INTERNAL, cause_panic(0));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeFinalize());
}

static int32_t panic_inside(const AoeProgress *progress, void *payload) {
    (void)progress;
    (void)payload;
    CHECK_STATUS(AOE_ERROR_INTERNAL, cause_panic(1));
    return 0;
}

TEST(panic_inside_a_callback) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeSetProgressCallback(session, panic_inside, NULL));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeFinalize());
}

static void *panic_often(void *payload) {
    (void)payload;
    for (int i = 0; i < 50; i++) CHECK_STATUS(AOE_ERROR_INTERNAL, cause_panic(i % 4));
    return NULL;
}

TEST(panics_in_many_threads) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, panic_often, NULL) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}
