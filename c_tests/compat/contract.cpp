// What every client relies on, whichever it is: the life cycle, options, what GE may do, and what goes wrong.
#include "older_client.h"

#include <atomic>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>

static ge::Session ge_session;

static const Options operators = {{"job_type", "2"}};

static uint64_t new_session() {
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, tuner().create_session(session));
    return session;
}

static uint64_t new_session_of_product() {
    const uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    return session;
}

// Most cases leave their session to finalise, which reclaims it and says so.
#define FINALIZE_WITH_SESSIONS(functions) EXPECT_NAMED(AOE_SUCCESS, "reclaimed", (functions).finalize())

// Life cycle

TEST(finalise_twice_and_before_initialise_is_harmless) {
    EXPECT(AOE_SUCCESS, tuner().finalize());
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    EXPECT(AOE_SUCCESS, tuner().finalize());
    CHECK(printed().empty());
}

TEST(calls_before_initialise_say_so_and_write_nothing) {
    uint64_t session = 4711;
    EXPECT_NAMED(AOE_ERROR_UNINITIALIZED, "AoeCreateSession: AoeInitialize", tuner().create_session(session));
    CHECK(session == 4711);
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().destroy_session(session));
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().set_ge_session(session, &ge_session));
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().set_tuning_graph(session, product()));
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().set_tuning_graph_input(session, first_step()));
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().tuning_graph(session, {}));
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().set_depend_graphs(session, {}));
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().set_depend_graphs_inputs(session, {}));
    CHECK(ge::SavedGraphs() == 0);
}

static int entries_of(const char *path) {
    int count = 0;
    DIR *directory = opendir(path);
    CHECK(directory != nullptr);
    while (readdir(directory) != nullptr) count++;
    closedir(directory);
    return count;
}

TEST(full_cycles_repeat_and_leave_neither_threads_nor_open_files) {
    int threads = 0, files = 0;
    for (int cycle = 0; cycle < 20; cycle++) {
        EXPECT(AOE_SUCCESS, tuner().initialize(cycle % 2 == 0 ? operators : Options({{"job_type", "2"}, {"device", "0"}})));
        const uint64_t session = new_session(), leaked = new_session();
        CHECK(session != leaked);
        EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, cycle % 4 == 0 ? product() : nothing()));
        EXPECT(cycle % 4 == 0 ? AOE_SUCCESS : AOE_ERROR_NON_OPTIMIZE_GRAPH, tuner().tuning_graph(session, {}));
        EXPECT(AOE_SUCCESS, tuner().destroy_session(session));
        FINALIZE_WITH_SESSIONS(tuner());
        EXPECT(AOE_ERROR_UNINITIALIZED, tuner().destroy_session(leaked));
        if (cycle == 4) threads = entries_of("/proc/self/task"), files = entries_of("/proc/self/fd");
    }
    CHECK(entries_of("/proc/self/task") == threads && entries_of("/proc/self/fd") == files);
}

TEST(a_session_tunes_again_and_with_another_graph) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, tuner().tuning_graph(session, {}));
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, nothing()));
    EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, tuner().tuning_graph(session, {}));
    EXPECT(AOE_SUCCESS, tuner().destroy_session(session));
    EXPECT(AOE_ERROR_INVALID_SESSION, tuner().destroy_session(session));
    EXPECT(AOE_ERROR_INVALID_SESSION, tuner().set_tuning_graph(session, product()));
    EXPECT(AOE_SUCCESS, tuner().finalize());
}

// Finalises when its module's objects are destroyed, after main.
struct FinalizesLate {
    ~FinalizesLate() {
        if (armed && tuner().finalize() != AOE_SUCCESS) _exit(1);
    }
    bool armed = false;
};
static FinalizesLate late;

TEST(finalise_from_a_destructor_of_a_static_object) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    EXPECT(AOE_SUCCESS, tuner().destroy_session(new_session()));
    late.armed = true;
}

TEST(a_forked_child_is_told_so_and_may_finalise) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    const pid_t child = fork();
    if (child == 0) {
        uint64_t own = 0;
        const bool told = tuner().create_session(own) == AOE_ERROR_FORKED &&
                          tuner().tuning_graph(session, {}) == AOE_ERROR_FORKED &&
                          tuner().initialize(operators) == AOE_ERROR_FORKED && tuner().finalize() == AOE_SUCCESS;
        _exit(told ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    allow_noise(); // the child was told in words, too
    EXPECT(AOE_SUCCESS, tuner().destroy_session(session));
    EXPECT(AOE_SUCCESS, tuner().finalize());
}

// A stream that stands still while somebody writes to it.
static std::atomic<bool> somebody_writes{false}, may_go_on{false};

static ssize_t write_slowly(void *, const char *, size_t size) {
    somebody_writes = true;
    while (!may_go_on) sched_yield();
    return static_cast<ssize_t>(size);
}

TEST(a_child_forked_while_another_thread_initialises_may_finalise_and_is_told_so) {
    FILE *const errors = stderr;
    stderr = fopencookie(nullptr, "w", {nullptr, write_slowly, nullptr, nullptr});
    CHECK(stderr != nullptr && setvbuf(stderr, nullptr, _IONBF, 0) == 0);
    std::thread thread([] { EXPECT(AOE_SUCCESS, tuner().initialize({{"job_type", "2"}, {"strange", "1"}})); });
    while (!somebody_writes) sched_yield();
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);  // rather than never
        setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 1);
        const bool told = tuner().finalize() == AOE_SUCCESS && tuner().initialize(operators) == AOE_ERROR_FORKED;
        _exit(told ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    may_go_on = true;
    thread.join();
    CHECK(fclose(stderr) == 0);
    stderr = errors;
    EXPECT(AOE_SUCCESS, tuner().finalize());
}

TEST(a_forked_child_of_a_process_that_has_finalised_tunes_by_itself) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    const pid_t child = fork();
    if (child == 0) {
        EXPECT(AOE_SUCCESS, tuner().initialize(operators));
        EXPECT(AOE_SUCCESS, tuner().destroy_session(new_session()));
        EXPECT(AOE_SUCCESS, tuner().finalize());
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    EXPECT(AOE_SUCCESS, tuner().finalize());
}

TEST(threads_initialise_create_tune_and_destroy_at_once) {
    enum { kThreads = 6, kRounds = 10 };
    std::vector<std::thread> threads;
    std::atomic<int> tuned{0};
    for (int i = 0; i < kThreads; i++) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < kRounds; round++) {
                EXPECT(AOE_SUCCESS, tuner().initialize(operators));
                const uint64_t session = new_session();
                EXPECT(AOE_SUCCESS, tuner().set_ge_session(session, &ge_session));
                EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, i == 0 ? product() : nothing()));
                EXPECT(AOE_SUCCESS, tuner().set_tuning_graph_input(session, i == 0 ? first_step() : Tensors()));
                EXPECT(i == 0 ? AOE_SUCCESS : AOE_ERROR_NON_OPTIMIZE_GRAPH, tuner().tuning_graph(session, {}));
                EXPECT(AOE_SUCCESS, tuner().destroy_session(session));
                tuned++;
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(tuned == kThreads * kRounds);
    EXPECT(AOE_SUCCESS, tuner().finalize());
}

// Results

TEST(tunings_of_many_threads_share_one_result_file_that_is_whole_at_every_moment) {
    enum { kThreads = 4, kRounds = 5 };
    std::vector<std::thread> threads;
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    for (int i = 0; i < kThreads; i++) {
        threads.emplace_back([] {
            for (int round = 0; round < kRounds; round++) {
                const uint64_t session = new_session_of_product();
                EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
                CHECK(results_in(".") > 0);
                EXPECT(AOE_SUCCESS, tuner().destroy_session(session));
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(results_in(".") == kThreads * kRounds);
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(new_session_of_product(), {{"result_file", "tuning"}}));
    CHECK(result_files_in(".").size() == 2);
    FINALIZE_WITH_SESSIONS(tuner());
}

// Options

TEST(every_option_is_read_whatever_its_length) {
    Options many = operators;
    std::vector<std::string> keys;
    for (int i = 0; i < 200; i++) {
        keys.push_back("key" + std::to_string(i) + std::string(static_cast<size_t>(i % 40), 'x') + "_");
        many[keys.back().c_str()] = std::string(static_cast<size_t>(i % 50) + 1, 'v').c_str();
    }
    many["ge.not_set"] = ge::AscendString();
    many["not_set_either"] = "";
    EXPECT(AOE_SUCCESS, tuner().initialize(many));
    const std::string text = printed();
    for (const std::string &key : keys) {
        if (text.find("`" + key + "`") == std::string::npos) CHECK_FAIL("%s: %s", key.c_str(), text.c_str());
    }
    CHECK(text.find("not_set") == std::string::npos);
    EXPECT(AOE_SUCCESS, tuner().initialize(many));
    EXPECT(AOE_SUCCESS, tuner().finalize());
}

TEST(a_malformed_value_is_refused_and_named) {
    EXPECT_NAMED(AOE_ERROR_INVALID_OPTION_ATTR, "device", tuner().initialize({{"job_type", "2"}, {"device", "first"}}));
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    EXPECT_NAMED(AOE_ERROR_INVALID_OPTION_ATTR, "precision_mode", tuner().tuning_graph(session, {{"precision_mode", "best"}}));
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    FINALIZE_WITH_SESSIONS(tuner());
}

TEST(options_of_a_session_count_for_it_alone_and_those_of_a_tuning_win) {
    OlderFunctions<Aoe::AscendString> older;
    const Library library(RTLD_NOW);
    older.find_all(library);
    EXPECT(AOE_SUCCESS, older.initialize({{"work_path", "./"}}));
    uint64_t strange = 0, plain = 0;
    ge::Graph graph = product();
    EXPECT(AOE_SUCCESS, older.create_session({{"job_type", "2"}, {"soc_version", "NoSuchSoc"}}, strange));
    EXPECT(AOE_SUCCESS, older.create_session({{"job_type", "2"}}, plain));
    EXPECT(AOE_SUCCESS, older.set_tuning_graph(strange, graph));
    EXPECT(AOE_SUCCESS, older.set_tuning_graph(plain, graph));
    const int32_t status = older.tuning_graph(strange, {});
    CHECK(status != AOE_SUCCESS && printed().find("NoSuchSoc") != std::string::npos);
    EXPECT(AOE_SUCCESS, older.tuning_graph(strange, {{"soc_version", "Ascend910B2"}}));
    EXPECT(AOE_SUCCESS, older.tuning_graph(plain, {}));
    FINALIZE_WITH_SESSIONS(older);
}

TEST(the_environment_says_how_many_arguments_a_session_takes) {
    OlderFunctions<Aoe::AscendString> older;
    const Library library(RTLD_NOW);
    older.find_all(library);
    uint64_t session = 0;
    setenv("AOE_CREATE_SESSION_ARGUMENTS", "2", 1);
    EXPECT(AOE_SUCCESS, older.initialize({{"job_type", "2"}}));
    EXPECT(AOE_SUCCESS, older.create_session({}, session));
    EXPECT(AOE_ERROR_NON_OPTIMIZABLE_OBJECT, older.tuning_graph(session, {}));
    FINALIZE_WITH_SESSIONS(older);
    setenv("AOE_CREATE_SESSION_ARGUMENTS", "1", 1);
    EXPECT(AOE_SUCCESS, tuner().initialize({}));
    EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, tuner().tuning_graph(new_session(), operators));
    FINALIZE_WITH_SESSIONS(tuner());
    setenv("AOE_CREATE_SESSION_ARGUMENTS", "3", 1);
    EXPECT_NAMED(AOE_ERROR_INVALID_OPTION_ATTR, "AOE_CREATE_SESSION_ARGUMENTS: `3`", tuner().initialize(operators));
}

TEST(a_session_by_itself_is_told_from_one_with_options) {
    struct {
        uint64_t session;
        // Where an empty map was whose place the session has got.
        const void *remains[5];
    } place = {0, {nullptr, nullptr, &place.remains[0], &place.remains[0], nullptr}};
    for (const Options &options : {Options(), Options({{"work_path", "."}})}) {
        EXPECT(AOE_SUCCESS, tuner().initialize(options));
        EXPECT(AOE_SUCCESS, tuner().destroy_session(new_session()));
        // An older client's empty map looks the same: if it is one, this says what became of it.
        EXPECT_NAMED(AOE_SUCCESS, "AOE_CREATE_SESSION_ARGUMENTS", tuner().create_session(place.session));
        EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(place.session, nothing()));
        EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, tuner().tuning_graph(place.session, operators));
        EXPECT(AOE_SUCCESS, tuner().destroy_session(place.session));
        EXPECT(AOE_SUCCESS, tuner().finalize());
    }
}

TEST(where_a_session_goes_is_looked_at_first) {
    OlderFunctions<Aoe::AscendString> older;
    const Library library(RTLD_NOW);
    older.find_all(library);
    uint64_t *const nowhere = reinterpret_cast<uint64_t *>(8);
    EXPECT(AOE_SUCCESS, tuner().initialize({}));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "sessionId", older.create_session({{"job_type", "2"}}, *nowhere));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "sessionId", tuner().create_session(*nowhere));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    setenv("AOE_CREATE_SESSION_ARGUMENTS", "2", 1);
    EXPECT(AOE_SUCCESS, tuner().initialize({}));
    uint64_t session[6] = {};
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "AOE_CREATE_SESSION_ARGUMENTS", tuner().create_session(session[0]));
    EXPECT(AOE_SUCCESS, tuner().finalize());
}

TEST(options_of_the_environment_stand_behind_the_clients) {
    setenv("AOE_TUNING_OPTIONS", "soc_version=NoSuchSoc||seed=1", 1);
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    CHECK(tuner().tuning_graph(session, {}) != AOE_SUCCESS && printed().find("NoSuchSoc") != std::string::npos);
    FINALIZE_WITH_SESSIONS(tuner());
    EXPECT(AOE_SUCCESS, tuner().initialize({{"job_type", "2"}, {"soc_version", "Ascend910B4"}}));
    session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    FINALIZE_WITH_SESSIONS(tuner());
    setenv("AOE_TUNING_OPTIONS", "seed", 1);
    EXPECT_NAMED(AOE_ERROR_INVALID_OPTION_ATTR, "AOE_TUNING_OPTIONS: `seed`", tuner().initialize(operators));
    setenv("AOE_TUNING_OPTIONS", "sead=1", 1);
    EXPECT_NAMED(AOE_ERROR_INVALID_OPTION_ATTR, "`seed`", tuner().initialize(operators));
}

TEST(what_is_wrong_in_the_environment_is_said_to_be_there) {
    for (const char *wrong : {"sead=1", "log=info||seed=many", "model=net.onnx", "backend=simulator|seed=2",
                              "backend=simulator|||seed=2"}) {
        setenv("AOE_TUNING_OPTIONS", wrong, 1);
        const std::string before = printed();
        EXPECT(AOE_ERROR_INVALID_OPTION_ATTR, tuner().initialize(operators));
        const std::string told = printed().substr(before.size());
        if (told.find("AoeInitialize: AOE_TUNING_OPTIONS: ") == std::string::npos) CHECK_FAIL("%s: %s", wrong, told.c_str());
    }
    CHECK(printed().find("two bars") != std::string::npos);
}

TEST(a_simulator_that_nobody_asked_for_is_told) {
    unsetenv("AOE_TUNING_OPTIONS");
    EXPECT(AOE_SUCCESS, tuner().initialize({{"job_type", "2"}, {"max_tuning_count", "8"}}));
    const uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    EXPECT_NAMED(AOE_SUCCESS, "warning: backend simulator (chosen by auto", tuner().tuning_graph(session, {}));
    FINALIZE_WITH_SESSIONS(tuner());
}

TEST(gradient_tunings_of_one_life_have_a_timeline_each) {
    // Only what has an effect on gradients.
    setenv("AOE_TUNING_OPTIONS", "backend=simulator", 1);
    EXPECT(AOE_SUCCESS, tuner().initialize({{"job_type", "4"}}));
    for (int tuning = 0; tuning < 2; tuning++) {
        const uint64_t session = new_session();
        EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, training()));
        EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
        EXPECT(AOE_SUCCESS, tuner().destroy_session(session));
    }
    EXPECT(AOE_SUCCESS, tuner().finalize());
    CHECK(results_in(".", "gdat") == 2);
    const std::vector<std::string> timelines = result_files_in(".", "aoe_timeline_gdat_");
    CHECK(timelines.size() == 2);
    for (const std::string &timeline : timelines) CHECK(json_valid(timeline.c_str()));
    CHECK(access("gradient_summary.csv", F_OK) == 0);
}

TEST(subgraphs_leave_no_empty_folder) {
    EXPECT(AOE_SUCCESS, tuner().initialize({{"job_type", "1"}}));
    const uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, chain()));
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, tuner().tuning_graph(new_session(), {}));
    FINALIZE_WITH_SESSIONS(tuner());
    CHECK(results_in(".", "sgat") == 1);
    CHECK(access("aoe_workspace", F_OK) != 0);
}

TEST(a_tuned_model_is_written_for_who_says_where_to) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, slashes()));
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    CHECK(access("aoe_workspace", F_OK) != 0);
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {{"output", "tuned"}}));
    CHECK(access("tuned.air", F_OK) == 0 && access("tuned.om", F_OK) == 0);
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {{"tuned_model", "on"}}));
    CHECK(access("aoe_workspace", F_OK) == 0);
    FINALIZE_WITH_SESSIONS(tuner());
}

TEST(messages_go_where_cann_sends_them) {
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 1);
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().destroy_session(1));
    CHECK(printed().empty());
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "3", 1);
    setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
    EXPECT(AOE_ERROR_UNINITIALIZED, tuner().destroy_session(1));
    CHECK(printed().empty());
    char *text = check_read_file("stdout.caught", nullptr);
    CHECK(text != nullptr && strstr(text, "AoeDestroySession") != nullptr);
    free(text);
}

// GE

TEST(a_saved_graph_is_released_at_once) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    CHECK(ge::SavedGraphs() == 1 && ge::LivingBuffers() == 0);
    CHECK(ge::LastPath().empty() || access(ge::LastPath().c_str(), F_OK) != 0);
    FINALIZE_WITH_SESSIONS(tuner());
}

TEST(a_graph_too_large_for_memory_goes_through_a_private_file) {
    char root[] = "files";
    CHECK(mkdir(root, 0700) == 0);
    setenv("TMPDIR", root, 1);
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    const ge::Graph graph("product", AOE_NETWORKS "/product.air", ge::Saving::kFailsInMemory);
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, graph));
    CHECK(ge::LastPath().find("files/") == 0 && rmdir(root) == 0);
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    EXPECT_NAMED(1004, "files/", tuner().set_tuning_graph(session, graph));
    FINALIZE_WITH_SESSIONS(tuner());
}

TEST(what_ge_cannot_save_is_an_invalid_graph_and_what_it_throws_stays_inside) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    const auto set = [&](ge::Saving saving) {
        return tuner().set_tuning_graph(session, ge::Graph("product", AOE_NETWORKS "/product.air", saving));
    };
    EXPECT_NAMED(AOE_ERROR_INVALID_GRAPH, "ge::Graph::SaveToFile(const char *) const answers 4294967295", set(ge::Saving::kFails));
    EXPECT(AOE_ERROR_INVALID_GRAPH, set(ge::Saving::kWritesNoAir));
    EXPECT_NAMED(AOE_FAILURE, "the graph is too long", set(ge::Saving::kThrows));
    EXPECT_NAMED(AOE_FAILURE, "no std::exception", set(ge::Saving::kThrowsNoException));
    EXPECT(AOE_SUCCESS, set(ge::Saving::kWell));
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    FINALIZE_WITH_SESSIONS(tuner());
}

static void *set_a_graph_that_waits(void *session) {
    const ge::Graph graph("product", AOE_NETWORKS "/product.air", ge::Saving::kWaits);
    tuner().set_tuning_graph(*static_cast<uint64_t *>(session), graph);
    return nullptr;
}

TEST(a_thread_cancelled_inside_ge_leaves_no_lock) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    uint64_t session = new_session();
    pthread_t thread;
    void *result = nullptr;
    CHECK(pthread_create(&thread, nullptr, set_a_graph_that_waits, &session) == 0);
    while (ge::WaitingGraphs() == 0) sched_yield();
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    FINALIZE_WITH_SESSIONS(tuner());
}

TEST(inputs_must_fit_the_graph) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, product()));
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph_input(session, first_step(255)));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "[255,512]", tuner().tuning_graph(session, {}));
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, open_batch()));
    EXPECT(AOE_SUCCESS, tuner().tuning_graph(session, {}));
    FINALIZE_WITH_SESSIONS(tuner());
}

TEST(a_type_of_a_later_ge_is_no_obstacle) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const ge::TensorDesc desc(ge::Shape({256, 512}), static_cast<ge::Format>(99), static_cast<ge::DataType>(99));
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph_input(new_session(), {ge::Tensor(desc, nullptr, 0)}));
    FINALIZE_WITH_SESSIONS(tuner());
}

TEST(depend_graphs_and_their_inputs_are_read) {
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    EXPECT(AOE_SUCCESS, tuner().set_depend_graphs(session, {nothing(), product()}));
    CHECK(ge::SavedGraphs() == 2);
    EXPECT(AOE_SUCCESS, tuner().set_depend_graphs_inputs(session, {{}, first_step()}));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "2 graphs", tuner().set_depend_graphs_inputs(session, {first_step()}));
    EXPECT(AOE_ERROR_INVALID_GRAPH, tuner().set_depend_graphs(session, {nothing(), ge::Graph()}));
    FINALIZE_WITH_SESSIONS(tuner());
}

// The functions as a client in another language may call them.
template <typename... Arguments>
static int32_t call(const char *name, Arguments... arguments) {
    static const Library library(RTLD_NOW);
    int32_t (*function)(Arguments...) = nullptr;
    library.find(name, function);
    return function(arguments...);
}

TEST(null_is_refused_wherever_it_is_passed) {
    void *const null = nullptr;
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "globalOptions", call("AoeInitialize", null));
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    const uint64_t session = new_session();
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "sessionId", call("AoeCreateSession", null));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "ge_session", call("AoeSetGeSession", session, null));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "tuningGraph", call("AoeSetTuningGraph", session, null));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "inputs", call("AoeSetTuningGraphInput", session, null));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "tuningOptions", call("AoeTuningGraph", session, null));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "dependGraphs", call("AoeSetDependGraphs", session, null));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "dependGraphsInputs", call("AoeSetDependGraphsInputs", session, null));
    FINALIZE_WITH_SESSIONS(tuner());
    const OlderFunctions<Aoe::AscendString>::Options older, options = {{"job_type", "2"}};
    uint64_t created = 0;
    EXPECT(AOE_SUCCESS, call("AoeInitialize", &older));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "sessionId", call("AoeCreateSession", &options, null));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    setenv("AOE_CREATE_SESSION_ARGUMENTS", "2", 1);
    EXPECT(AOE_SUCCESS, call("AoeInitialize", &older));
    EXPECT_NAMED(AOE_ERROR_INVALID_PARAM, "sessionOptions", call("AoeCreateSession", null, &created));
    EXPECT(AOE_SUCCESS, tuner().finalize());
}
