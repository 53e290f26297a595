// The drop-in library finds the engine beside itself, wherever it lies, and says what is wrong with what lies there.
// Each case opens a copy of it in a folder of its own; see CMakeLists.txt.
#include "older_client.h"

// Opens the copy in a folder of AOE_COPIES, by a path relative to that folder's parent, and leaves.
struct Copy {
    explicit Copy(const char *folder) {
        char home[PATH_MAX];
        CHECK(getcwd(home, sizeof home) != nullptr && chdir(AOE_COPIES) == 0);
        handle = dlopen((std::string(folder) + "/libaoe_tuning.so").c_str(), RTLD_NOW);
        if (handle == nullptr) CHECK_FAIL("%s", dlerror());
        CHECK(chdir(home) == 0);
        void *address = dlsym(handle, "AoeInitialize");
        memcpy(&initialize, &address, sizeof address);
        address = dlsym(handle, "AoeFinalize");
        memcpy(&finalize, &address, sizeof address);
    }

    void *handle;
    int32_t (*initialize)(const OlderFunctions<Aoe::AscendString>::Options &) = nullptr;
    int32_t (*finalize)() = nullptr;
};

TEST(the_engine_lies_beside_a_library_that_was_opened_by_a_relative_path) {
    const Copy copy("whole");
    EXPECT(AOE_SUCCESS, copy.initialize({{"job_type", "2"}}));
    EXPECT(AOE_SUCCESS, copy.finalize());
}

TEST(a_symbolic_link_leads_to_the_engine) {
    const Copy copy("linked");
    EXPECT(AOE_SUCCESS, copy.initialize({{"job_type", "2"}}));
    EXPECT(AOE_SUCCESS, copy.finalize());
}

TEST(a_missing_engine_is_named_and_may_come_later) {
    const Copy copy("alone");
    EXPECT_NAMED(AOE_FAILURE, AOE_COPIES "/alone/libaoe_tuning_engine.so", copy.initialize({{"job_type", "2"}}));
    EXPECT(AOE_SUCCESS, copy.finalize());
}

TEST(an_engine_of_another_version_is_refused) {
    const Copy older("older"), stranger("stranger");
    EXPECT_NAMED(AOE_FAILURE, "older/libaoe_tuning_engine.so is of another version", older.initialize({}));
    EXPECT_NAMED(AOE_FAILURE, "stranger/libaoe_tuning_engine.so is of another version", stranger.initialize({}));
}
