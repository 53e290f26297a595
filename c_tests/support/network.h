/* network.h - a network small enough to tune in no time, built call by call. */
#ifndef NETWORK_H
#define NETWORK_H

#include "check.h"

static inline AoeTensor tensor_of(AoeDataType type, const int64_t *dims, size_t dim_count) {
    AoeTensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.dims = dims;
    tensor.dim_count = dim_count;
    tensor.data_type = type;
    tensor.format = AOE_FORMAT_ND;
    return tensor;
}

/* Options for a short and repeatable tuning on the simulator. */
static const AoeOption quick[] = {
    {"job_type", "2"}, {"backend", "simulator"}, {"soc_version", "Ascend910B2"}, {"seed", "1"}, {"max_tuning_count", "16"}};
#define QUICK quick, sizeof quick / sizeof *quick

/* x[256,512] -> MatMulV2 -> Relu -> MatMulV2 -> y[256,128]; the caller destroys it. */
static inline AoeGraph *small_network(void) {
    static const int64_t x_dims[] = {256, 512}, w1_dims[] = {512, 384}, w2_dims[] = {384, 128};
    AoeTensor x = tensor_of(AOE_DT_FLOAT16, x_dims, 2);
    AoeTensor w1 = tensor_of(AOE_DT_FLOAT16, w1_dims, 2), w2 = tensor_of(AOE_DT_FLOAT16, w2_dims, 2);
    AoeGraph *graph = NULL;
    AoeNodeId input, weight1, weight2, fc1, relu, fc2;
    CHECK_OK(AoeGraphCreate("small", &graph));
    CHECK_OK(AoeGraphAddInput(graph, "x", &x, &input));
    CHECK_OK(AoeGraphAddConst(graph, "w1", &w1, &weight1));
    CHECK_OK(AoeGraphAddConst(graph, "w2", &w2, &weight2));
    CHECK_OK(AoeGraphAddNode(graph, "fc1", "MatMulV2", 1, &fc1));
    CHECK_OK(AoeGraphAddNode(graph, "relu", "Relu", 1, &relu));
    CHECK_OK(AoeGraphAddNode(graph, "fc2", "MatMulV2", 1, &fc2));
    CHECK_OK(AoeGraphAddEdge(graph, input, 0, fc1, 0));
    CHECK_OK(AoeGraphAddEdge(graph, weight1, 0, fc1, 1));
    CHECK_OK(AoeGraphAddEdge(graph, fc1, 0, relu, 0));
    CHECK_OK(AoeGraphAddEdge(graph, relu, 0, fc2, 0));
    CHECK_OK(AoeGraphAddEdge(graph, weight2, 0, fc2, 1));
    CHECK_OK(AoeGraphSetAttrBool(graph, fc1, "transpose_x1", 0));
    CHECK_OK(AoeGraphAddOutput(graph, fc2, 0));
    return graph;
}

/* A session that has been given the small network. */
static inline AoeSessionId small_session(void) {
    AoeSessionId session = 0;
    AoeGraph *graph = small_network();
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    AoeGraphDestroy(graph);
    return session;
}

/* The session's report; the caller frees it. */
static inline char *report_of(AoeSessionId session) {
    size_t size = 0;
    CHECK_OK(AoeGetReport(session, NULL, &size));
    char *text = malloc(size);
    CHECK(text != NULL);
    CHECK_OK(AoeGetReport(session, text, &size));
    CHECK(strlen(text) + 1 == size);
    return text;
}

#endif
