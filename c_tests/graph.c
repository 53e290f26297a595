/* Graphs: what is malformed is refused where it can first be seen, and named. */
#include "support/network.h"

static AoeSessionId session_for(const AoeGraph *graph, AoeStatus expected, const char *culprit) {
    AoeSessionId session = 0;
    CHECK_OK(AoeCreateSession(&session));
    if (expected == AOE_SUCCESS)
        CHECK_OK(AoeSetTuningGraph(session, graph));
    else
        CHECK_ERROR(expected, culprit, AoeSetTuningGraph(session, graph));
    return session;
}

TEST(a_cycle_is_refused_with_its_nodes) {
    AoeGraph *graph = NULL;
    AoeNodeId a, b;
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeGraphCreate("ring", &graph));
    CHECK_OK(AoeGraphAddNode(graph, "front", "Relu", 1, &a));
    CHECK_OK(AoeGraphAddNode(graph, "back", "Relu", 1, &b));
    CHECK_OK(AoeGraphAddEdge(graph, a, 0, b, 0));
    CHECK_OK(AoeGraphAddEdge(graph, b, 0, a, 0));
    session_for(graph, AOE_ERROR_INVALID_GRAPH, "`back`");
    const AoeGraph *depend[] = {graph};
    AoeSessionId session = 0;
    CHECK_OK(AoeCreateSession(&session));
    CHECK_ERROR(AOE_ERROR_INVALID_GRAPH, "cycle", AoeSetDependGraphs(session, depend, 1));
    CHECK_OK(AoeFinalize());
    AoeGraphDestroy(graph);
}

TEST(duplicate_and_missing_names) {
    AoeGraph *graph = small_network();
    AoeNodeId node = 99;
    size_t before = 0, after = 0;
    CHECK_OK(AoeGraphGetNodeCount(graph, &before));
    CHECK_ERROR(AOE_ERROR_INVALID_GRAPH, "`relu`", AoeGraphAddNode(graph, "relu", "Relu", 1, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_GRAPH, "empty", AoeGraphAddNode(graph, "", "Relu", 1, &node));
    CHECK_OK(AoeGraphGetNodeCount(graph, &after));
    CHECK(before == after && node == 99);
    CHECK_OK(AoeGraphFindNode(graph, "relu", &node));
    CHECK(node == 4);
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "`relu6`", AoeGraphFindNode(graph, "relu6", &node));
    AoeGraphDestroy(graph);
}

TEST(impossible_dimensions) {
    AoeGraph *graph = NULL;
    AoeNodeId node;
    const int64_t wrong[][2] = {{1, -3}, {1, 0}, {(int64_t)1 << 31, 1}, {INT64_MAX, 1}, {INT64_MIN, 1}, {-2, 1}};
    CHECK_OK(AoeGraphCreate("net", &graph));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        AoeTensor desc = tensor_of(AOE_DT_FLOAT, wrong[i], 2);
        CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`desc`", AoeGraphAddInput(graph, "x", &desc, &node));
    }
    const int64_t vast[] = {INT32_MAX, INT32_MAX, INT32_MAX};
    AoeTensor value = tensor_of(AOE_DT_FLOAT, vast, 3);
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`value`", AoeGraphAddConst(graph, "w", &value, &node));
    AoeGraphDestroy(graph);
}

TEST(unknown_data_types_and_formats) {
    AoeGraph *graph = NULL;
    AoeNodeId node;
    const int64_t dims[] = {1};
    AoeTensor desc = tensor_of(AOE_DT_FLOAT, dims, 1);
    CHECK_OK(AoeGraphCreate("net", &graph));
    desc.data_type = 5;
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "5 is no data type", AoeGraphAddInput(graph, "x", &desc, &node));
    desc.data_type = AOE_DT_FLOAT;
    desc.format = 55;
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "55 is no format", AoeGraphAddInput(graph, "x", &desc, &node));
    desc.format = AOE_FORMAT_NCHW;
    CHECK_OK(AoeGraphAddInput(graph, "x", &desc, &node));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "43", AoeGraphSetAttrDataType(graph, node, "dst_type", 43));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "2", AoeGraphSetAttrBool(graph, node, "keep_dims", 2));
    AoeGraphDestroy(graph);
}

TEST(edges_to_nowhere) {
    AoeGraph *graph = small_network();
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`source`", AoeGraphAddEdge(graph, 6, 0, 5, 2));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`source_output`", AoeGraphAddEdge(graph, 0, 1, 5, 2));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`target`", AoeGraphAddEdge(graph, 0, 0, 6, 2));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`target_input`", AoeGraphAddEdge(graph, 0, 0, 5, AOE_MAX_NODE_PORTS));
    CHECK_ERROR(AOE_ERROR_INVALID_GRAPH, "connected", AoeGraphAddEdge(graph, 0, 0, 5, 0));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`output`", AoeGraphAddOutput(graph, 5, 1));
    AoeGraphDestroy(graph);
}

TEST(an_operator_unknown_to_ascend_is_kept_and_named) {
    AoeGraph *graph = small_network();
    AoeNodeId node, fc2;
    const int64_t dims[] = {256, 128};
    AoeTensor desc = tensor_of(AOE_DT_FLOAT16, dims, 2);
    CHECK_OK(AoeGraphAddNode(graph, "mystery", "NoSuchOperator", 1, &node));
    CHECK_OK(AoeGraphFindNode(graph, "fc2", &fc2));
    CHECK_OK(AoeGraphAddEdge(graph, fc2, 0, node, 0));
    CHECK_OK(AoeGraphSetOutputDesc(graph, node, 0, &desc));
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = session_for(graph, AOE_SUCCESS, "");
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    char *report = report_of(session);
    CHECK(strstr(report, "mystery") != NULL);
    free(report);
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

TEST(a_graph_without_operators_has_nothing_to_tune) {
    AoeGraph *graph = NULL;
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeGraphCreate("empty", &graph));
    AoeSessionId session = session_for(graph, AOE_SUCCESS, "");
    CHECK_STATUS(AOE_ERROR_NON_OPTIMIZE_GRAPH, AoeTuningGraph(session, NULL, 0));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

TEST(a_saved_graph_is_read_back_and_other_names_are_refused) {
    AoeGraph *graph = small_network();
    size_t nodes = 0;
    CHECK_OK(AoeGraphGetNodeCount(graph, &nodes));
    const char *const names[] = {"out.air", "out.om"};
    for (size_t i = 0; i < 2; i++) {
        AoeGraph *again = NULL;
        size_t count = 0;
        CHECK_OK(AoeGraphSaveFile(graph, names[i]));
        CHECK_OK(AoeGraphLoadFile(names[i], NULL, 0, &again));
        CHECK_OK(AoeGraphGetNodeCount(again, &count));
        CHECK(count == nodes);
        AoeGraphDestroy(again);
        CHECK(remove(names[i]) == 0);
    }
    CHECK_ERROR(AOE_ERROR_IO, "out.txt", AoeGraphSaveFile(graph, "out.txt"));
    CHECK(access("out.txt", F_OK) != 0);
    AoeGraphDestroy(graph);
}

TEST(a_graph_of_many_nodes_is_built_in_linear_time) {
    enum { NODES = 200000 };
    const int64_t dims[] = {16};
    AoeTensor desc = tensor_of(AOE_DT_FLOAT16, dims, 1);
    AoeGraph *graph = NULL;
    AoeNodeId last, next;
    size_t count = 0;
    char name[32];
    CHECK_OK(AoeGraphCreate("long", &graph));
    CHECK_OK(AoeGraphAddInput(graph, "x", &desc, &last));
    for (int i = 1; i < NODES; i++) {
        snprintf(name, sizeof name, "relu%d", i);
        CHECK_OK(AoeGraphAddNode(graph, name, "Relu", 1, &next));
        CHECK_OK(AoeGraphAddEdge(graph, last, 0, next, 0));
        last = next;
    }
    CHECK_OK(AoeGraphGetNodeCount(graph, &count));
    CHECK(count == NODES);
    CHECK_OK(AoeInitialize(QUICK));
    session_for(graph, AOE_SUCCESS, "");
    CHECK_OK(AoeFinalize());
    AoeGraphDestroy(graph);
}

TEST(a_string_attribute_is_read_by_the_names_of_node_and_attribute) {
    AoeGraph *graph = small_network();
    AoeNodeId relu = 0;
    char text[16];
    size_t size = 0;
    CHECK_OK(AoeGraphFindNode(graph, "relu", &relu));
    CHECK_OK(AoeGraphSetAttrString(graph, relu, "mode", "SAME"));
    CHECK_OK(AoeGraphSetAttrString(graph, relu, "empty", ""));
    CHECK_OK(AoeGraphSetAttrInt(graph, relu, "axis", 1));

    CHECK_OK(AoeGraphGetNodeAttrString(graph, "relu", "mode", NULL, &size));
    CHECK(size == 5);
    memset(text, 'x', sizeof text);
    size = 4;
    CHECK_ERROR(AOE_ERROR_BUFFER_TOO_SMALL, "needed", AoeGraphGetNodeAttrString(graph, "relu", "mode", text, &size));
    CHECK(size == 5 && text[0] == 'x');
    CHECK_OK(AoeGraphGetNodeAttrString(graph, "relu", "mode", text, &size));
    CHECK(size == 5 && strcmp(text, "SAME") == 0 && text[5] == 'x');
    CHECK_OK(AoeGraphGetNodeAttrString(graph, "relu", "empty", text, &size));
    CHECK(size == 1 && text[0] == '\0');

    size = 77;
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "`nobody`", AoeGraphGetNodeAttrString(graph, "nobody", "mode", NULL, &size));
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "`nothing`", AoeGraphGetNodeAttrString(graph, "relu", "nothing", NULL, &size));
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "`fc1`", AoeGraphGetNodeAttrString(graph, "fc1", "mode", NULL, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`axis`", AoeGraphGetNodeAttrString(graph, "relu", "axis", NULL, &size));
    CHECK(size == 77);
    AoeGraphDestroy(graph);
}

/* A graph of one convolution, whose attribute data_format has the default that programs leave it at. */
static AoeGraph *convolution(const AoeTensor *image) {
    const int64_t filter[] = {3, 2, 8, 64}, strides[] = {1, 1, 2, 2}, pads[] = {0, 0, 0, 0};
    AoeTensor w = tensor_of(AOE_DT_FLOAT16, filter, 4);
    w.format = AOE_FORMAT_HWCN;
    AoeGraph *graph = NULL;
    AoeNodeId x, weight, conv;
    CHECK_OK(AoeGraphCreate("conv", &graph));
    CHECK_OK(AoeGraphAddInput(graph, "x", image, &x));
    CHECK_OK(AoeGraphAddConst(graph, "w", &w, &weight));
    CHECK_OK(AoeGraphAddNode(graph, "conv", "Conv2D", 1, &conv));
    CHECK_OK(AoeGraphAddEdge(graph, x, 0, conv, 0));
    CHECK_OK(AoeGraphAddEdge(graph, weight, 0, conv, 1));
    CHECK_OK(AoeGraphSetAttrString(graph, conv, "data_format", "NHWC"));
    CHECK_OK(AoeGraphSetAttrInts(graph, conv, "strides", strides, 4));
    CHECK_OK(AoeGraphSetAttrInts(graph, conv, "pads", pads, 4));
    CHECK_OK(AoeGraphAddOutput(graph, conv, 0));
    return graph;
}

/* The session's report names each of these. */
static void check_reported(AoeSessionId session, const char *const *texts, size_t count) {
    char *report = report_of(session);
    for (size_t i = 0; i < count; i++)
        if (strstr(report, texts[i]) == NULL) CHECK_FAIL("`%s` is missing in %s", texts[i], report);
    free(report);
}

TEST(the_format_of_a_tensor_counts_before_the_attribute) {
    const int64_t dims[] = {1, 8, 33, 22};
    AoeTensor image = tensor_of(AOE_DT_FLOAT16, dims, 4);
    const char *const expected[] = {"Conv2D [1,8,33,22]*[64,3,2] s2x2"};
    image.format = AOE_FORMAT_NCHW;
    CHECK_OK(AoeInitialize(QUICK));
    AoeGraph *graph = convolution(&image);
    AoeSessionId session = session_for(graph, AOE_SUCCESS, NULL);
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    check_reported(session, expected, 1);
    CHECK_OK(AoeFinalize());
    AoeGraphDestroy(graph);
}

TEST(an_input_without_a_shape_is_what_the_program_gives_for_it) {
    const int64_t unknown[] = {AOE_RANK_UNKNOWN}, dims[] = {1, 8, 33, 22};
    AoeTensor late = tensor_of(AOE_DT_FLOAT, unknown, 1), image = tensor_of(AOE_DT_FLOAT16, dims, 4);
    const char *const expected[] = {"Conv2D [1,8,33,22]*[64,3,2] s2x2 g1 float16"};
    image.format = AOE_FORMAT_NCHW;
    CHECK_OK(AoeInitialize(QUICK));
    AoeGraph *graph = convolution(&late);
    AoeSessionId session = session_for(graph, AOE_SUCCESS, NULL);
    CHECK_ERROR(AOE_ERROR_DYNAMIC_GRAPH, "`x`", AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeSetTuningGraphInput(session, &image, 1));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    check_reported(session, expected, 1);
    CHECK_OK(AoeFinalize());
    AoeGraphDestroy(graph);
}

TEST(an_unknown_operator_ends_inference_and_not_tuning) {
    const int64_t x_dims[] = {64, 128}, a_dims[] = {128, 256}, b_dims[] = {256, 32}, odd_dims[] = {512, 256};
    AoeTensor x = tensor_of(AOE_DT_FLOAT16, x_dims, 2), a = tensor_of(AOE_DT_FLOAT16, a_dims, 2);
    AoeTensor b = tensor_of(AOE_DT_FLOAT16, b_dims, 2), stated = tensor_of(AOE_DT_FLOAT16, odd_dims, 2);
    AoeGraph *graph = NULL;
    AoeNodeId nodes[6];
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeGraphCreate("odd", &graph));
    CHECK_OK(AoeGraphAddInput(graph, "x", &x, &nodes[0]));
    CHECK_OK(AoeGraphAddConst(graph, "a", &a, &nodes[1]));
    CHECK_OK(AoeGraphAddConst(graph, "b", &b, &nodes[2]));
    CHECK_OK(AoeGraphAddNode(graph, "first", "MatMulV2", 1, &nodes[3]));
    CHECK_OK(AoeGraphAddNode(graph, "odd", "NoSuchOperator", 1, &nodes[4]));
    CHECK_OK(AoeGraphAddNode(graph, "second", "MatMulV2", 1, &nodes[5]));
    const AoeNodeId edges[][3] = {{0, 3, 0}, {1, 3, 1}, {3, 4, 0}, {4, 5, 0}, {2, 5, 1}};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        CHECK_OK(AoeGraphAddEdge(graph, nodes[edges[i][0]], 0, nodes[edges[i][1]], edges[i][2]));
    CHECK_OK(AoeGraphAddOutput(graph, nodes[5], 0));
    AoeSessionId session = session_for(graph, AOE_SUCCESS, NULL);
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    const char *const without[] = {"[64,128,256]", "\"reason\": \"unknown operator\"", "\"source\": \"odd\""};
    check_reported(session, without, 3);
    /* Where the program describes the result, what reads it is tuned, too. */
    CHECK_OK(AoeGraphSetOutputDesc(graph, nodes[4], 0, &stated));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    const char *const with[] = {"[64,128,256]", "[512,256,32]", "\"dynamic\": []"};
    check_reported(session, with, 3);
    CHECK_OK(AoeFinalize());
    AoeGraphDestroy(graph);
}
