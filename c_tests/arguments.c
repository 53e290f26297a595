/* Wrong arguments: NULL, not UTF-8, out of range; each gives its status and names the parameter. */
#include "support/network.h"

#define NOT_UTF8 "ab\xff"

TEST(null_arguments) {
    AoeGraph *graph = small_network(), *made = NULL;
    AoeNodeId node = 0;
    AoeSessionId session = 0;
    size_t size = 0;
    const int64_t dims[] = {1};
    AoeTensor desc = tensor_of(AOE_DT_FLOAT, dims, 1);
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeCreateSession(&session));

    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`options`", AoeInitialize(NULL, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`session`", AoeCreateSession(NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`ge_session`", AoeSetGeSession(session, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graphs`", AoeSetDependGraphs(session, NULL, 1));
    const AoeGraph *graphs[] = {graph, NULL};
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graphs`", AoeSetDependGraphs(session, graphs, 2));
    const AoeTensor *lists[] = {NULL};
    const size_t counts[] = {1};
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`inputs`", AoeSetDependGraphsInputs(session, NULL, counts, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`input_counts`", AoeSetDependGraphsInputs(session, lists, NULL, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`inputs`", AoeSetDependGraphsInputs(session, lists, counts, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeSetTuningGraph(session, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`inputs`", AoeSetTuningGraphInput(session, NULL, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`options`", AoeTuningGraph(session, NULL, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`size`", AoeGetSessionError(session, NULL, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`size`", AoeGetReport(session, NULL, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGetTunedGraph(session, NULL));

    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`name`", AoeGraphCreate(NULL, &made));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphCreate("net", NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`path`", AoeGraphLoadFile(NULL, NULL, 0, &made));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphLoadFile("x.onnx", NULL, 0, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`data`", AoeGraphLoadMemory(NULL, 1, NULL, 0, &made));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphLoadMemory("", 0, NULL, 0, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphSaveFile(NULL, "x.air"));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`path`", AoeGraphSaveFile(graph, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphAddInput(NULL, "a", &desc, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`name`", AoeGraphAddInput(graph, NULL, &desc, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`desc`", AoeGraphAddInput(graph, "a", NULL, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`node`", AoeGraphAddInput(graph, "a", &desc, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphAddConst(NULL, "a", &desc, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`value`", AoeGraphAddConst(graph, "a", NULL, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphAddNode(NULL, "a", "Relu", 1, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`op_type`", AoeGraphAddNode(graph, "a", NULL, 1, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`op_type`", AoeGraphAddNode(graph, "a", "", 1, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphAddEdge(NULL, 0, 0, 1, 0));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphAddOutput(NULL, 0, 0));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`desc`", AoeGraphSetOutputDesc(graph, 0, 0, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphSetAttrInt(NULL, 0, "a", 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`name`", AoeGraphSetAttrFloat(graph, 0, NULL, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`name`", AoeGraphSetAttrBool(graph, 0, "", 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`value`", AoeGraphSetAttrString(graph, 0, "a", NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`values`", AoeGraphSetAttrInts(graph, 0, "a", NULL, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`values`", AoeGraphSetAttrFloats(graph, 0, "a", NULL, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphGetNodeCount(NULL, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`node_count`", AoeGraphGetNodeCount(graph, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`node`", AoeGraphFindNode(graph, "x", NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`graph`", AoeGraphGetNodeAttrString(NULL, "x", "a", NULL, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`node_name`", AoeGraphGetNodeAttrString(graph, NULL, "a", NULL, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`attr_name`", AoeGraphGetNodeAttrString(graph, "x", NULL, NULL, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`size`", AoeGraphGetNodeAttrString(graph, "x", "a", NULL, NULL));

    CHECK(made == NULL);
    CHECK_OK(AoeGraphGetNodeCount(graph, &size));
    CHECK(size == 6);
    CHECK_OK(AoeDestroySession(session));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

TEST(null_arrays_without_elements_are_fine) {
    AoeSessionId session = 0;
    AoeGraph *graph = small_network();
    CHECK_OK(AoeInitialize(NULL, 0));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetDependGraphs(session, NULL, 0));
    CHECK_OK(AoeSetDependGraphsInputs(session, NULL, NULL, 0));
    CHECK_OK(AoeSetTuningGraphInput(session, NULL, 0));
    CHECK_OK(AoeGraphSetAttrInts(graph, 0, "axes", NULL, 0));
    CHECK_OK(AoeSetProgressCallback(session, NULL, NULL));
    CHECK_OK(AoeSetLogCallback(NULL, NULL));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

TEST(non_utf8_strings) {
    AoeGraph *graph = small_network(), *made = NULL;
    AoeNodeId node = 0;
    const int64_t dims[] = {1};
    AoeTensor desc = tensor_of(AOE_DT_FLOAT, dims, 1);
    const AoeOption key[] = {{NOT_UTF8, "1"}}, value[] = {{"seed", NOT_UTF8}};
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`options`", AoeInitialize(key, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`seed`", AoeInitialize(value, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`name`", AoeGraphCreate(NOT_UTF8, &made));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`path`", AoeGraphLoadFile(NOT_UTF8, NULL, 0, &made));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`path`", AoeGraphSaveFile(graph, NOT_UTF8));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`name`", AoeGraphAddInput(graph, NOT_UTF8, &desc, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`name`", AoeGraphAddConst(graph, NOT_UTF8, &desc, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`op_type`", AoeGraphAddNode(graph, "a", NOT_UTF8, 1, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`name`", AoeGraphSetAttrInt(graph, 0, NOT_UTF8, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`value`", AoeGraphSetAttrString(graph, 0, "a", NOT_UTF8));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "byte 2", AoeGraphFindNode(graph, NOT_UTF8, &node));
    CHECK(made == NULL);
    AoeGraphDestroy(graph);
}

TEST(options_are_copied) {
    char key[] = "seed", value[] = "7";
    const AoeOption options[] = {{key, value}};
    CHECK_OK(AoeInitialize(options, 1));
    memset(key, 0, sizeof key);
    memset(value, 0, sizeof value);
    CHECK_OK(AoeFinalize());
}

TEST(absurd_counts) {
    AoeSessionId session = 0;
    CHECK_OK(AoeInitialize(NULL, 0));
    CHECK_OK(AoeCreateSession(&session));
    const AoeOption option = {"seed", "1"};
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "option_count", AoeTuningGraph(session, &option, (size_t)-1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "option_count", AoeTuningGraph(session, &option, AOE_MAX_OPTIONS + 1));
    const AoeTensor tensor = tensor_of(AOE_DT_FLOAT, NULL, 0);
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "inputs", AoeSetTuningGraphInput(session, &tensor, (size_t)-1));
    CHECK_OK(AoeFinalize());
}

TEST(null_option_value_and_empty_option_value) {
    const AoeOption null_value[] = {{"work_path", NULL}}, null_key[] = {{NULL, ""}}, empty[] = {{"work_path", ""}, {"ge.recompute", ""}};
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`work_path`", AoeInitialize(null_value, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "entry 0", AoeInitialize(null_key, 1));
    CHECK_OK(AoeInitialize(empty, 2));
    CHECK_OK(AoeFinalize());
}

TEST(an_option_without_meaning_is_told_from_a_malformed_value) {
    CHECK_OK(AoeCheckOption("job_type", NULL));
    CHECK_OK(AoeCheckOption("job_type", "2"));
    CHECK_OK(AoeCheckOption("ge.whatever", "x"));
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "job_type", AoeCheckOption("job_type", "7"));
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "`job_type`", AoeCheckOption("job_typ", "2"));
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "`model_path`", AoeCheckOption("model_path", NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "key", AoeCheckOption(NULL, "2"));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "value", AoeCheckOption("job_type", "\xff"));
}

TEST(status_names) {
    CHECK(strcmp(AoeGetStatusName(AOE_ERROR_BUSY), "AOE_ERROR_BUSY") == 0);
    CHECK(strcmp(AoeGetStatusName(AOE_FAILURE), "AOE_FAILURE") == 0);
    CHECK(strcmp(AoeGetStatusName(4711), "AOE_STATUS_UNKNOWN") == 0);
}

TEST(version_of_header_and_library_agree) { CHECK(AoeGetVersion() == AOE_VERSION); }

TEST(an_error_text_is_gone_after_the_next_success) {
    AoeGraph *graph = NULL;
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeGraphCreate(NULL, &graph));
    CHECK(AoeGetLastError()[0] != '\0');
    CHECK(AoeGetLastError()[0] != '\0');
    AoeGraph *made = NULL;
    CHECK_OK(AoeGraphCreate("", &made));
    AoeGraphDestroy(made);
}

TEST(a_destructor_without_status_leaves_no_error_text) {
    AoeGraph *made = small_network(), *none = NULL;
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeGraphCreate(NULL, &none));
    CHECK(AoeGetLastError()[0] != '\0');
    AoeGraphDestroy(NULL);
    CHECK(AoeGetLastError()[0] == '\0');
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeGraphCreate(NULL, &none));
    AoeGraphDestroy(made);
    CHECK(AoeGetLastError()[0] == '\0');
}

TEST(names_and_versions_do_not_count_as_calls) {
    AoeGraph *none = NULL;
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeGraphCreate(NULL, &none));
    const char *text = AoeGetLastError();
    CHECK(AoeGetStatusName(AOE_ERROR_BUSY) != NULL && AoeGetVersion() != 0 && AoeGetApi(0) == NULL);
    CHECK(AoeGetLastError() == text && strstr(text, "`name`") != NULL);
}

TEST(arguments_are_judged_before_life_and_session) {
    const int64_t dims[] = {1};
    const AoeTensor bad = tensor_of(5, dims, 1);
    AoeGraph *sound = small_network(), *cyclic = NULL;
    AoeNodeId a, b;
    CHECK_OK(AoeGraphCreate("cyclic", &cyclic));
    CHECK_OK(AoeGraphAddNode(cyclic, "a", "Relu", 1, &a));
    CHECK_OK(AoeGraphAddNode(cyclic, "b", "Relu", 1, &b));
    CHECK_OK(AoeGraphAddEdge(cyclic, a, 0, b, 0));
    CHECK_OK(AoeGraphAddEdge(cyclic, b, 0, a, 0));
    const AoeGraph *graphs[] = {sound, cyclic};
    for (int initialised = 0; initialised < 2; initialised++) {
        if (initialised) CHECK_OK(AoeInitialize(QUICK));
        CHECK_STATUS(AOE_ERROR_INVALID_GRAPH, AoeSetTuningGraph(0, cyclic));
        CHECK_STATUS(AOE_ERROR_INVALID_GRAPH, AoeSetDependGraphs(0, graphs, 2));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeSetTuningGraph(0, NULL));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeSetDependGraphs(0, NULL, 1));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeSetDependGraphsInputs(0, NULL, NULL, 1));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeSetTuningGraphInput(0, &bad, 1));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeSetGeSession(0, NULL));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeTuningGraph(0, NULL, 1));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeGetReport(0, NULL, NULL));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeGetTunedGraph(0, NULL));
        CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeGetSessionError(0, NULL, NULL));
        CHECK_STATUS(initialised ? AOE_ERROR_INVALID_SESSION : AOE_ERROR_UNINITIALIZED, AoeSetTuningGraph(0, sound));
        CHECK_STATUS(initialised ? AOE_ERROR_INVALID_SESSION : AOE_ERROR_UNINITIALIZED, AoeSetDependGraphs(0, graphs, 1));
    }
    AoeGraphDestroy(cyclic);
    AoeGraphDestroy(sound);
    CHECK_OK(AoeFinalize());
}
