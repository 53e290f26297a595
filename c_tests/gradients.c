/* Gradient tuning of a graph that is built call by call. */
#include "support/json.h"
#include "support/network.h"

static const AoeOption options[] = {
    {"job_type", "4"}, {"backend", "simulator"}, {"soc_version", "Ascend910B2"}, {"tuned_model", "off"}};

/* One more product on `x`; its result is a gradient that is exchanged, unless `exchanged` is 0. */
static AoeNodeId product(AoeGraph *graph, AoeNodeId x, int number, int exchanged) {
    char name[32];
    AoeNodeId node, exchange;
    snprintf(name, sizeof name, "grad%d", number);
    CHECK_OK(AoeGraphAddNode(graph, name, "MatMulV2", 1, &node));
    CHECK_OK(AoeGraphAddEdge(graph, x, 0, node, 0));
    CHECK_OK(AoeGraphAddEdge(graph, x, 0, node, 1));
    if (exchanged) {
        snprintf(name, sizeof name, "allreduce%d", number);
        CHECK_OK(AoeGraphAddNode(graph, name, "HcomAllReduce", 1, &exchange));
        CHECK_OK(AoeGraphAddEdge(graph, node, 0, exchange, 0));
        CHECK_OK(AoeGraphSetAttrString(graph, exchange, "reduction", "sum"));
        CHECK_OK(AoeGraphSetAttrString(graph, exchange, "group", "hccl_world_group"));
        CHECK_OK(AoeGraphSetAttrInt(graph, exchange, "fusion", 1));
        CHECK_OK(AoeGraphAddOutput(graph, exchange, 0));
    }
    return node;
}

static AoeGraph *training(int exchanged) {
    static const int64_t dims[] = {512, 512};
    AoeTensor desc = tensor_of(AOE_DT_FLOAT16, dims, 2);
    AoeGraph *graph = NULL;
    AoeNodeId x;
    CHECK_OK(AoeGraphCreate("training", &graph));
    CHECK_OK(AoeGraphAddInput(graph, "x", &desc, &x));
    for (int number = 0; number < 12; number++) {
        x = product(graph, x, number, exchanged);
    }
    CHECK_OK(AoeGraphAddOutput(graph, x, 0));
    return graph;
}

static int32_t count(const AoeProgress *progress, void *payload) {
    CHECK(progress->done <= progress->total);
    ++*(int *)payload;
    return 0;
}

static double number_after(const char *json, const char *name) {
    const char *value = json_after(json, name);
    CHECK(value != NULL);
    return strtod(value, NULL);
}

TEST(a_graph_built_call_by_call_is_split) {
    int told = 0;
    AoeSessionId session = 0;
    AoeGraph *graph = training(1), *tuned = NULL;
    CHECK_OK(AoeInitialize(options, sizeof options / sizeof *options));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    CHECK_OK(AoeSetProgressCallback(session, count, &told));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK(told >= 2);
    char *report = report_of(session);
    CHECK(json_valid(report));
    CHECK(number_after(report, "gradient_num") == 12);
    CHECK(number_after(report, "trailing_time_after_tune(ms)") <= number_after(report, "trailing_time_before_tune(ms)"));
    CHECK(strstr(report, "split_after_tune") != NULL && strstr(report, "\"devices\": 4096") != NULL);
    free(report);
    CHECK_OK(AoeGetTunedGraph(session, &tuned));
    AoeGraphDestroy(tuned);
    CHECK_OK(AoeFinalize());
    AoeGraphDestroy(graph);
}

TEST(a_graph_without_gradients_has_nothing_to_tune) {
    AoeSessionId session = 0;
    AoeGraph *graph = training(0);
    CHECK_OK(AoeInitialize(options, sizeof options / sizeof *options));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    CHECK_ERROR(AOE_ERROR_NON_OPTIMIZE_GRAPH, "HcomAllReduce", AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeFinalize());
    AoeGraphDestroy(graph);
}
