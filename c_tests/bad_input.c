/* Files that are not what they should be; banks and results stay as they were. */
#include "support/network.h"

#include <dirent.h>
#include <fcntl.h>

/* A good model to damage: examples/models of the source tree. */
static char *model(size_t *size) {
    char *bytes = check_read_file(AOE_MODELS "/resnet50.onnx", size);
    CHECK(bytes != NULL && *size > 1000);
    return bytes;
}

static void refuse(const void *data, size_t size) {
    AoeGraph *graph = NULL;
    CHECK_STATUS(AOE_ERROR_INVALID_GRAPH, AoeGraphLoadMemory(data, size, NULL, 0, &graph));
    CHECK(graph == NULL && AoeGetLastError()[0] != '\0');
}

TEST(a_good_model_loads_from_file_and_from_memory) {
    AoeGraph *graph = NULL, *again = NULL;
    size_t size, nodes = 0, nodes_again = 0;
    char *bytes = model(&size);
    CHECK_OK(AoeGraphLoadFile(AOE_MODELS "/resnet50.onnx", NULL, 0, &graph));
    CHECK_OK(AoeGraphLoadMemory(bytes, size, NULL, 0, &again));
    free(bytes);
    CHECK_OK(AoeGraphGetNodeCount(graph, &nodes));
    CHECK_OK(AoeGraphGetNodeCount(again, &nodes_again));
    CHECK(nodes > 100 && nodes == nodes_again);
    AoeGraphDestroy(graph);
    AoeGraphDestroy(again);
}

TEST(options_say_of_a_model_what_is_open_and_where_it_ends) {
    static const char net[] = "input: 'x' input_dim: [-1, 8, -1, -1]\n"
        "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 16 kernel_size: 3 } }\n"
        "layer { name: 'odd' type: 'Odd' bottom: 'c' top: 'odd' }\n"
        "layer { name: 'r' type: 'ReLU' bottom: 'odd' top: 'r' }\n";
    const AoeOption good[] = {{"out_nodes", "c:0"}, {"dynamic_dims", "4,16,24"}};
    const AoeOption image[] = {{"out_nodes", "c:0"}, {"input_shape", "x:4,8,-1,-1"}, {"dynamic_image_size", "16,24"}};
    const AoeOption several[] = {{"dynamic_dims", "4,16,24;8,32,32"}}, absent[] = {{"out_nodes", "d:0"}};
    const AoeOption two[] = {{"dynamic_dims", "4,16,24"}, {"dynamic_batch_size", "4"}}, few[] = {{"dynamic_dims", "4"}};
    const AoeOption weights[] = {{"weight", "nowhere.caffemodel"}};
    AoeGraph *graph = NULL;
    AoeNodeId node = 0;
    CHECK_OK(AoeGraphLoadMemory(net, sizeof net - 1, good, 2, &graph));
    CHECK_OK(AoeGraphFindNode(graph, "c", &node));
    CHECK_STATUS(AOE_ERROR_NOT_FOUND, AoeGraphFindNode(graph, "r", &node));
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = 0;
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeTuningGraph(session, good, 2));
    AoeGraphDestroy(graph);
    /* What is left open at loading is tuned for each set of values. */
    CHECK_OK(AoeGraphLoadMemory(net, sizeof net - 1, several, 1, &graph));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    /* What no rule tells the sizes of is left out, and named. */
    CHECK_OK(AoeTuningGraph(session, several, 1));
    char *report = report_of(session);
    CHECK(strstr(report, "\"dynamic\"") != NULL && strstr(report, "r@dims=8,32,32") != NULL);
    free(report);
    const AoeOption both[] = {several[0], good[0]};
    CHECK_OK(AoeTuningGraph(session, both, 2));
    CHECK_OK(AoeDestroySession(session));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeGraphLoadMemory(net, sizeof net - 1, image, 3, &graph));
    AoeGraphDestroy(graph);
    graph = NULL;
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "`d`", AoeGraphLoadMemory(net, sizeof net - 1, absent, 1, &graph));
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "excludes", AoeGraphLoadMemory(net, sizeof net - 1, two, 2, &graph));
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "1 values", AoeGraphLoadMemory(net, sizeof net - 1, few, 1, &graph));
    CHECK_ERROR(AOE_ERROR_IO, "nowhere", AoeGraphLoadMemory(net, sizeof net - 1, weights, 1, &graph));
    CHECK(graph == NULL);
}

TEST(a_truncated_model_never_crashes_and_mostly_is_refused) {
    size_t size, refused = 0;
    char *bytes = model(&size);
    const size_t step = size / 200 + 1;
    for (size_t cut = 0; cut < size; cut += step) {
        AoeGraph *graph = NULL;
        /* A copy of just this length, so that a sanitizer sees any read past it. */
        char *part = malloc(cut + 1);
        CHECK(part != NULL);
        memcpy(part, bytes, cut);
        AoeStatus status = AoeGraphLoadMemory(part, cut, NULL, 0, &graph);
        CHECK((status == AOE_SUCCESS) == (graph != NULL));
        refused += status != AOE_SUCCESS;
        AoeGraphDestroy(graph);
        free(part);
    }
    CHECK(refused > 190);
    free(bytes);
}

TEST(flipped_bytes_never_crash) {
    size_t size;
    char *bytes = model(&size);
    uint32_t random = 1;
    for (int round = 0; round < 100; round++) {
        AoeGraph *graph = NULL;
        random = random * 1664525u + 1013904223u;
        const size_t at = random % size;
        const char kept = bytes[at];
        bytes[at] = (char)(random >> 8);
        if (AoeGraphLoadMemory(bytes, size, NULL, 0, &graph) != AOE_SUCCESS) CHECK(AoeGetLastError()[0] != '\0');
        AoeGraphDestroy(graph);
        bytes[at] = kept;
    }
    free(bytes);
}

TEST(what_is_no_model_is_refused) {
    char noise[4096], deep[6000];
    uint32_t random = 7;
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
    refuse(NULL, 0);
    refuse("", 0);
    refuse(noise, sizeof noise);
    refuse("this is a text, not a model", 27);
    /* Messages within messages, each claiming to hold the rest: field 7, length-delimited. */
    size_t used = 0;
    while (used + 3 <= sizeof deep) {
        size_t rest = sizeof deep - used - 3;
        deep[used++] = 0x3a;
        deep[used++] = (char)(0x80 | (rest & 0x7f));
        deep[used++] = (char)((rest >> 7) & 0x7f);
    }
    refuse(deep, used);
    /* A length of 2^62 bytes. */
    refuse("\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x40", 10);
}

TEST(missing_file_directory_and_wrong_framework) {
    AoeGraph *graph = NULL;
    const AoeOption onnx[] = {{"framework", "5"}}, caffe[] = {{"framework", "0"}}, unknown[] = {{"framework", "9"}};
    const AoeOption shape[] = {{"input_shape", "x:1,a"}};
    CHECK_ERROR(AOE_ERROR_IO, "nowhere.onnx", AoeGraphLoadFile("nowhere.onnx", NULL, 0, &graph));
    CHECK_ERROR(AOE_ERROR_IO, "bank", AoeGraphLoadFile("bank", onnx, 1, &graph));
    CHECK_STATUS(AOE_ERROR_IO, AoeGraphLoadFile("", onnx, 1, &graph));
    check_write_file("net.prototxt", "name: \"net\"\n", 12);
    CHECK_ERROR(AOE_ERROR_INVALID_GRAPH, "no layer", AoeGraphLoadFile("net.prototxt", caffe, 1, &graph));
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "framework", AoeGraphLoadFile("net.onnx", unknown, 1, &graph));
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "x:1,a", AoeGraphLoadFile("net.onnx", shape, 1, &graph));
    CHECK(graph == NULL);
}

TEST(a_file_without_permission) {
    AoeGraph *graph = NULL;
    be_nobody();
    check_write_file("secret.onnx", "x", 1);
    CHECK(chmod("secret.onnx", 0) == 0);
    CHECK_ERROR(AOE_ERROR_IO, "secret.onnx", AoeGraphLoadFile("secret.onnx", NULL, 0, &graph));
    CHECK(graph == NULL);
}

/* Names and sizes of everything below a directory, as one number. */
static uint64_t fingerprint(const char *path) {
    uint64_t sum = 14695981039346656037u;
    DIR *directory = opendir(path);
    if (directory == NULL) return sum;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char inner[1024];
        struct stat info;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(inner, &info) != 0) continue;
        uint64_t own = S_ISDIR(info.st_mode) ? fingerprint(inner) : (uint64_t)info.st_size;
        for (const char *c = entry->d_name; *c != '\0'; c++) own = (own ^ (uint64_t)(unsigned char)*c) * 1099511628211u;
        sum += own;
    }
    closedir(directory);
    return sum;
}

/* Tunes while a directory of the bank cannot be written to, and again when it can. */
static void tune_with_read_only(const char *directory, AoeStatus expected) {
    const AoeOption work[] = {{"work_path", "work"}};
    CHECK(mkdir("work", 0700) == 0 && chmod(directory, 0500) == 0);
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    uint64_t before = fingerprint("bank");
    CHECK_ERROR(expected, directory, AoeTuningGraph(session, work, 1));
    CHECK(fingerprint("bank") == before);
    CHECK(chmod(directory, 0700) == 0);
    CHECK_OK(AoeTuningGraph(session, work, 1));
    CHECK(fingerprint("bank") != before);
    CHECK_OK(AoeFinalize());
}

TEST(a_read_only_bank_directory_is_an_error_and_leaves_the_bank_unchanged) {
    be_nobody();
    tune_with_read_only("bank", AOE_ERROR_INVALID_OPTION_ATTR); /* TUNE_BANK_PATH is at fault */
}

TEST(a_read_only_directory_within_the_bank_is_an_error_and_leaves_the_bank_unchanged) {
    be_nobody();
    CHECK(mkdir("bank/Ascend910B2", 0700) == 0);
    tune_with_read_only("bank/Ascend910B2", AOE_ERROR_IO);
}

TEST(a_missing_bank_directory_is_an_error_that_names_it) {
    setenv("TUNE_BANK_PATH", "no-such-bank", 1);
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    AoeStatus status = AoeTuningGraph(session, NULL, 0);
    CHECK(status != AOE_SUCCESS && strstr(AoeGetLastError(), "no-such-bank") != NULL);
    CHECK(access("no-such-bank", F_OK) != 0);
    CHECK_OK(AoeFinalize());
}

TEST(a_work_path_that_is_a_file_is_an_error_that_names_it) {
    check_write_file("occupied", "x", 1);
    const AoeOption work[] = {{"work_path", "occupied"}};
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_ERROR(AOE_ERROR_IO, "occupied", AoeTuningGraph(session, work, 1));
    CHECK_OK(AoeFinalize());
}

TEST(a_backend_that_cannot_be_loaded_is_an_error_never_a_fallback) {
    const AoeOption ascend[] = {{"backend", "ascend"}};
    setenv("LD_LIBRARY_PATH", check_directory, 1);
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_ERROR(AOE_ERROR_BACKEND, "libascendcl.so", AoeTuningGraph(session, ascend, 1));
    CHECK_OK(AoeFinalize());
}

TEST(gradient_tuning_of_a_graph_without_gradients_says_so) {
    const AoeOption gdat[] = {{"job_type", "4"}};
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_ERROR(AOE_ERROR_NON_OPTIMIZE_GRAPH, "HcomAllReduce", AoeTuningGraph(session, gdat, 1));
    CHECK_OK(AoeFinalize());
}
