/* Writes the networks that the tests' GE hands over, as AIR, into the working directory. */
#include <aoe.h>

#include <stdio.h>

#define OK(call)                                                                                                      \
    do {                                                                                                              \
        if ((call) != AOE_SUCCESS) return fprintf(stderr, "%s: %s\n", #call, AoeGetLastError()), 1;                  \
    } while (0)

/* x[rows,512] -> MatMulV2 -> Relu -> y */
static int write_product(const char *name, int64_t rows, const char *file) {
    const int64_t x_dims[] = {rows, 512}, w_dims[] = {512, 384};
    const AoeTensor x = {x_dims, 2, AOE_DT_FLOAT16, AOE_FORMAT_ND, NULL, 0, NULL};
    const AoeTensor w = {w_dims, 2, AOE_DT_FLOAT16, AOE_FORMAT_ND, NULL, 0, NULL};
    AoeGraph *graph = NULL;
    AoeNodeId input, weight, product, relu;
    OK(AoeGraphCreate(name, &graph));
    OK(AoeGraphAddInput(graph, "x", &x, &input));
    OK(AoeGraphAddConst(graph, "w", &w, &weight));
    OK(AoeGraphAddNode(graph, "fc", "MatMulV2", 1, &product));
    OK(AoeGraphAddNode(graph, "relu", "Relu", 1, &relu));
    OK(AoeGraphAddEdge(graph, input, 0, product, 0));
    OK(AoeGraphAddEdge(graph, weight, 0, product, 1));
    OK(AoeGraphAddEdge(graph, product, 0, relu, 0));
    OK(AoeGraphAddOutput(graph, relu, 0));
    OK(AoeGraphSaveFile(graph, file));
    AoeGraphDestroy(graph);
    return 0;
}

/* An input that is the output: nothing in it to tune. */
static int write_nothing(const char *file) {
    const int64_t dims[] = {4};
    const AoeTensor x = {dims, 1, AOE_DT_FLOAT16, AOE_FORMAT_ND, NULL, 0, NULL};
    AoeGraph *graph = NULL;
    AoeNodeId input;
    OK(AoeGraphCreate("nothing", &graph));
    OK(AoeGraphAddInput(graph, "x", &x, &input));
    OK(AoeGraphAddOutput(graph, input, 0));
    OK(AoeGraphSaveFile(graph, file));
    AoeGraphDestroy(graph);
    return 0;
}

/* A chain of vector operators: fusion gains, and no device reads a tiling of them from a bank. */
static int write_chain(const char *file) {
    const int64_t dims[] = {4096, 4096};
    const AoeTensor x = {dims, 2, AOE_DT_FLOAT16, AOE_FORMAT_ND, NULL, 0, NULL};
    static const char *const types[] = {"Relu", "Sigmoid", "Tanh", "Relu"};
    AoeGraph *graph = NULL;
    AoeNodeId last;
    OK(AoeGraphCreate("chain", &graph));
    OK(AoeGraphAddInput(graph, "x", &x, &last));
    for (int i = 0; i < 4; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        AoeNodeId next;
        OK(AoeGraphAddNode(graph, name, types[i], 1, &next));
        OK(AoeGraphAddEdge(graph, last, 0, next, 0));
        last = next;
    }
    OK(AoeGraphAddOutput(graph, last, 0));
    OK(AoeGraphSaveFile(graph, file));
    AoeGraphDestroy(graph);
    return 0;
}

/* A training step: a chain of products, each of whose results is a gradient that is exchanged. */
static int write_training(const char *file) {
    const int64_t dims[] = {512, 512};
    const AoeTensor x = {dims, 2, AOE_DT_FLOAT16, AOE_FORMAT_ND, NULL, 0, NULL};
    AoeGraph *graph = NULL;
    AoeNodeId last;
    OK(AoeGraphCreate("training", &graph));
    OK(AoeGraphAddInput(graph, "x", &x, &last));
    for (int i = 0; i < 8; i++) {
        char gradient[16], exchanged[16];
        AoeNodeId product, exchange;
        snprintf(gradient, sizeof gradient, "grad%d", i);
        snprintf(exchanged, sizeof exchanged, "allreduce%d", i);
        OK(AoeGraphAddNode(graph, gradient, "MatMulV2", 1, &product));
        OK(AoeGraphAddEdge(graph, last, 0, product, 0));
        OK(AoeGraphAddEdge(graph, last, 0, product, 1));
        OK(AoeGraphAddNode(graph, exchanged, "HcomAllReduce", 1, &exchange));
        OK(AoeGraphAddEdge(graph, product, 0, exchange, 0));
        OK(AoeGraphSetAttrString(graph, exchange, "reduction", "sum"));
        OK(AoeGraphSetAttrString(graph, exchange, "group", "hccl_world_group"));
        OK(AoeGraphSetAttrInt(graph, exchange, "fusion", 1));
        OK(AoeGraphAddOutput(graph, exchange, 0));
        last = product;
    }
    OK(AoeGraphSaveFile(graph, file));
    AoeGraphDestroy(graph);
    return 0;
}

int main(void) {
    return write_product("product", 256, "product.air") || write_product("scope/step:1/net", 128, "slashes.air") ||
           write_product("open", AOE_DIM_UNKNOWN, "open.air") || write_nothing("nothing.air") ||
           write_chain("chain.air") || write_training("training.air");
}
