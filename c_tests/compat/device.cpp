// The drop-in library with a device, played by the stand-in of tests/ascend: what a client tunes is measured there in
// processes of their own, which outlive neither the tuning nor the client, whatever hangs.
#include "client.h"

#include <csignal>
#include <ctime>
#include <functional>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>

// Seconds that anything here may take, on a machine however busy.
enum { kPatience = 60 };

// Seconds within which AoeFinalize must answer while something hangs for an hour.
enum { kAtOnce = 5 };

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

static bool exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

static void wait_until(const char *what, const std::function<bool()> &is_so) {
    for (const double deadline = now() + kPatience; !is_so(); sched_yield()) {
        if (now() > deadline) CHECK_FAIL("still not so: %s", what);
    }
}

// Makes this machine one of two devices of 20 cores each, on which this is wrong.
static void be_a_machine(const char *faults) {
    for (const char *folder : {"state", "tmp"}) CHECK(mkdir(folder, 0700) == 0);
    const std::string here(check_directory);
    setenv("ASCEND_HOME_PATH", AOE_STAND_IN, 1);
    setenv("STAND_IN_LIBAOE", AOE_LIBRARY, 1);
    setenv("STAND_IN_STATE", (here + "/state").c_str(), 1);
    setenv("STAND_IN_CORES", "20", 1);
    setenv("STAND_IN_FAULTS", faults, 1);
    setenv("TMPDIR", (here + "/tmp").c_str(), 1);
}

static std::vector<std::string> entries_of(const std::string &path) {
    std::vector<std::string> names;
    DIR *directory = opendir(path.c_str());
    if (directory == nullptr) CHECK_FAIL("%s: %s", path.c_str(), strerror(errno));
    while (const dirent *entry = readdir(directory)) {
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    closedir(directory);
    return names;
}

static std::string text_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// The measuring processes that live: what this machine's variables were handed to, and a zombie is none.
static std::vector<std::string> measuring_processes() {
    std::vector<std::string> found;
    const std::string mark = "STAND_IN_STATE=" + std::string(check_directory) + "/state";
    for (const std::string &process : entries_of("/proc")) {
        if (process.find_first_not_of("0123456789") != std::string::npos) continue;
        const std::string environment = std::string(1, '\0') + text_of("/proc/" + process + "/environ");
        if (environment.find('\0' + mark + '\0') == std::string::npos) continue;
        if (text_of("/proc/" + process + "/stat").find(") Z ") == std::string::npos) found.push_back(process);
    }
    return found;
}

static int runs() { return atoi(text_of("state/runs").c_str()); }

static const char bank[] = "bank/Ascend910B2/unified_bank/Ascend910B2_20_AiCore_MatMulV3_runtime_kb.json";

// The records of the bank, all of which are whole.
static int records() {
    const std::string text = text_of(bank);
    int count = 0;
    for (size_t begin = 0, end; begin < text.size(); begin = end + 1, count++) {
        end = text.find('\n', begin);
        if (end == std::string::npos || !json_valid(text.substr(begin, end - begin).c_str())) {
            CHECK_FAIL("%s: no whole record in line %d", bank, count + 1);
        }
    }
    return count;
}

// The calls of a client for one graph, AoeInitialize and AoeFinalize left out.
static int32_t tune(const Options &options, const ge::Graph &graph = product(), const Tensors &inputs = first_step()) {
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, tuner().create_session(session));
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph(session, graph));
    EXPECT(AOE_SUCCESS, tuner().set_tuning_graph_input(session, inputs));
    const int32_t status = tuner().tuning_graph(session, options);
    EXPECT(AOE_SUCCESS, tuner().destroy_session(session));
    return status;
}

static const Options operators = {{"job_type", "2"}, {"backend", "ascend"}, {"algorithm", "annealing"}};

// Nothing is left of a tuning that came to its end.
static void check_that_all_is_tidy() {
    CHECK(measuring_processes().empty());
    CHECK(entries_of("tmp").empty());
}

// The bank takes what the next client finds, and what the last one left is removed.
static void check_that_a_client_tunes_here() {
    unsetenv("STAND_IN_FAULTS");
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    EXPECT(AOE_SUCCESS, tune({}));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    CHECK(records() == 1);
    check_that_all_is_tidy();
}

TEST(what_a_client_tunes_is_measured_by_the_device_and_kept_in_the_bank) {
    be_a_machine("");
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "1", 1);
    check_that_a_client_tunes_here();
    CHECK(exists("state/device-0") && !exists("state/device-1") && runs() > 8);
    CHECK(results_in(".") == 1 && result_files_in(".")[0].find("\"repo_add_num\": 1,") != std::string::npos);
    const std::string told = printed();
    for (const char *part : {"info: backend ascend", "20 cores", "libascendcl.so"}) {
        if (told.find(part) == std::string::npos) CHECK_FAIL("%s does not say %s", told.c_str(), part);
    }
}

TEST(the_device_that_a_client_names_is_the_one_that_measures) {
    be_a_machine("");
    EXPECT(AOE_SUCCESS, tuner().initialize({{"job_type", "2"}, {"backend", "ascend"}, {"device", "1"}}));
    EXPECT(AOE_SUCCESS, tune({}));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    CHECK(exists("state/device-1") && !exists("state/device-0") && records() == 1);
    EXPECT(AOE_SUCCESS, tuner().initialize({{"job_type", "2"}, {"backend", "ascend"}, {"device", "2"}}));
    EXPECT_NAMED(AOE_ERROR_INVALID_OPTION_ATTR, "device 2 does not exist, the machine has 0 to 1", tune({}));
    EXPECT(AOE_SUCCESS, tuner().finalize());
}

TEST(a_network_that_the_device_cannot_measure_has_nothing_to_tune_but_subgraphs) {
    const char told[] = "warning: operators were not tuned: ";
    be_a_machine("");
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    EXPECT_NAMED(AOE_ERROR_NON_OPTIMIZE_GRAPH, told, tune({}, chain(), {}));
    EXPECT_NAMED(AOE_ERROR_NON_OPTIMIZE_GRAPH, "CANN reads no tiling of Relu", tune({}, chain(), {}));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    CHECK(runs() == 0 && results_in(".") == 2);
    EXPECT(AOE_SUCCESS, tuner().initialize({{"job_type", "1,2"}, {"backend", "ascend"}, {"tuned_model", "on"}}));
    EXPECT(AOE_SUCCESS, tune({}, chain(), {}));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    CHECK(exists("aoe_workspace"));
    check_that_all_is_tidy();
}

TEST(candidates_that_hang_cost_their_time_and_nothing_else) {
    be_a_machine("some:aclnnMatmul=hang");
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    EXPECT(AOE_SUCCESS, tune({{"measuring_timeout", "1"}}));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    CHECK(exists("state/hang"));
    check_that_all_is_tidy();
    check_that_a_client_tunes_here();
}

TEST(a_device_that_is_lost_is_told_by_status_and_name_and_serves_again_when_it_is_back) {
    be_a_machine("candidate:aclnnMatmul=507008");
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    EXPECT_NAMED(1011, "aclnnMatmul returned 507008", tune({}));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    check_that_all_is_tidy();
    check_that_a_client_tunes_here();
}

// A client that finalises while its tuning hangs for an hour, and then ends as this says.
static void finalise_and(const std::function<void()> &end) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(kPatience);
    EXPECT(AOE_SUCCESS, tuner().initialize(operators));
    std::thread tuning([] {
        tune({{"measuring_timeout", "3600"}});
        CHECK_FAIL("the tuning has come to an end");
    });
    wait_until("something hangs", [] { return exists("state/hang"); });
    const double began = now();
    EXPECT(AOE_ERROR_BUSY, tuner().finalize());
    CHECK(now() - began < kAtOnce);
    CHECK(!measuring_processes().empty());
    end();
    CHECK_FAIL("the client lives");
}

// Runs such a client in a child; nothing that it started outlives it, and another one finds all in order.
static void check_finalise(const char *faults, const std::function<void()> &end, int signal) {
    be_a_machine(faults);
    const pid_t client = fork();
    CHECK(client >= 0);
    if (client == 0) finalise_and(end);
    allow_noise();
    int status = 0;
    CHECK(waitpid(client, &status, 0) == client);
    CHECK(signal == 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 0 : WIFSIGNALED(status) && WTERMSIG(status) == signal);
    wait_until("nothing that it started lives", [] { return measuring_processes().empty(); });
    records();
    check_that_a_client_tunes_here();
}

static void exit_in_order() { exit(0); }
static void be_killed() { raise(SIGKILL); }

TEST(finalise_while_a_candidate_hangs_is_told_so_at_once_and_the_clients_exit_ends_it) {
    check_finalise("candidate:aclnnMatmul=hang", exit_in_order, 0);
}

TEST(finalise_while_a_candidate_hangs_and_the_client_is_killed) {
    check_finalise("candidate:aclnnMatmul=hang", be_killed, SIGKILL);
}

TEST(finalise_while_the_runtime_hangs_is_told_so_at_once_and_the_clients_exit_ends_it) {
    check_finalise("aclrtGetDeviceCount=hang", exit_in_order, 0);
}

TEST(finalise_while_the_runtime_hangs_and_the_client_is_killed) {
    check_finalise("aclrtGetDeviceCount=hang", be_killed, SIGKILL);
}
