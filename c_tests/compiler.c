/*
 * A small graph compiler of GE's kind that loads the tuner at run time. It reads a network in a text
 * form of its own, fuses what it can, and before it "generates code" has every operator tuned. It knows
 * one symbol of the library, AoeGetApi, and does without tuning when the library is not there.
 */
#include "support/json.h"
#include "support/loaded.h"

#define MAX_OPS 32

/* One line of the network: name, type, up to two inputs, and for inputs and weights a shape. */
struct op {
    char name[24], type[24], inputs[2][24];
    long long dims[2];
    int rank, fused;
    AoeNodeId node;
};

struct network {
    struct op ops[MAX_OPS];
    int count;
};

static struct op *find(struct network *network, const char *name) {
    for (int i = 0; i < network->count; i++)
        if (strcmp(network->ops[i].name, name) == 0) return &network->ops[i];
    return NULL;
}

static void parse(struct network *network, const char *text) {
    memset(network, 0, sizeof *network);
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        struct op *op = &network->ops[network->count++];
        CHECK(network->count < MAX_OPS);
        char shape[32] = "";
        int fields = sscanf(line, "%23s = %23[^(](%23[^,)],%23[^)])", op->name, op->type, op->inputs[0], op->inputs[1]);
        CHECK(fields >= 2);
        if (strcmp(op->type, "Data") == 0 || strcmp(op->type, "Const") == 0) {
            CHECK(sscanf(line, "%*s = %*[^(](%31[^)])", shape) == 1);
            op->rank = sscanf(shape, "%lldx%lld", &op->dims[0], &op->dims[1]);
            memset(op->inputs, 0, sizeof op->inputs);
        }
    }
}

/* A Relu that only a BiasAdd feeds disappears into it: later stages see one operator less. */
static int fuse(struct network *network) {
    int fused = 0;
    for (int i = 0; i < network->count; i++) {
        struct op *op = &network->ops[i], *source = find(network, op->inputs[0]);
        if (strcmp(op->type, "Relu") != 0 || source == NULL || strcmp(source->type, "BiasAdd") != 0) continue;
        op->fused = 1;
        fused++;
        for (int j = 0; j < network->count; j++)
            for (int k = 0; k < 2; k++)
                if (strcmp(network->ops[j].inputs[k], op->name) == 0) strcpy(network->ops[j].inputs[k], source->name);
    }
    return fused;
}

/* The compiler's network as the tuner wants it. */
static AoeGraph *lower(const AoeApi *aoe, struct network *network) {
    AoeGraph *graph = NULL;
    CHECK(aoe->GraphCreate("compiled", &graph) == AOE_SUCCESS);
    for (int i = 0; i < network->count; i++) {
        struct op *op = &network->ops[i];
        const int64_t dims[2] = {op->dims[0], op->dims[1]};
        AoeTensor desc = {dims, (size_t)op->rank, AOE_DT_FLOAT16, AOE_FORMAT_ND, NULL, 0, NULL};
        AoeStatus status = AOE_SUCCESS;
        if (op->fused) continue;
        if (strcmp(op->type, "Data") == 0)
            status = aoe->GraphAddInput(graph, op->name, &desc, &op->node);
        else if (strcmp(op->type, "Const") == 0)
            status = aoe->GraphAddConst(graph, op->name, &desc, &op->node);
        else
            status = aoe->GraphAddNode(graph, op->name, op->type, 1, &op->node);
        if (status != AOE_SUCCESS) CHECK_FAIL("%s: %s", op->name, aoe->GetLastError());
        for (uint32_t slot = 0; slot < 2 && op->inputs[slot][0] != '\0'; slot++) {
            struct op *source = find(network, op->inputs[slot]);
            CHECK(source != NULL);
            status = aoe->GraphAddEdge(graph, source->node, 0, op->node, slot);
            if (status != AOE_SUCCESS) CHECK_FAIL("%s: %s", op->name, aoe->GetLastError());
        }
    }
    return graph;
}

static const char *const mlp = "x = Data(64x512)\n"
                               "w1 = Const(512x1024)\n"
                               "b1 = Const(1024)\n"
                               "fc1 = MatMulV2(x,w1)\n"
                               "bias1 = BiasAdd(fc1,b1)\n"
                               "act1 = Relu(bias1)\n"
                               "w2 = Const(1024x256)\n"
                               "fc2 = MatMulV2(act1,w2)\n"
                               "prob = SoftmaxV2(fc2)\n";

TEST(a_compiler_tunes_what_it_compiles) {
    struct network network;
    const AoeApi *(*get)(uint32_t) = NULL;
    parse(&network, mlp);
    CHECK(network.count == 9 && fuse(&network) == 1);

    void *handle = load_library(RTLD_LAZY | RTLD_LOCAL);
    LOOK_UP(handle, "AoeGetApi", get);
    const AoeApi *aoe = get(AOE_API_VERSION);
    CHECK(aoe != NULL && aoe->struct_size >= sizeof(AoeApi));

    const AoeOption global[] = {{"job_type", "2"}, {"backend", "simulator"}, {"soc_version", "Ascend910B2"}};
    const AoeOption local[] = {{"max_tuning_count", "24"}, {"seed", "3"}};
    AoeSessionId session = 0;
    CHECK(aoe->Initialize(global, 3) == AOE_SUCCESS);
    CHECK(aoe->CreateSession(&session) == AOE_SUCCESS);
    AoeGraph *graph = lower(aoe, &network);
    CHECK(aoe->SetTuningGraph(session, graph) == AOE_SUCCESS);
    AoeStatus status = aoe->TuningGraph(session, local, 2);
    if (status != AOE_SUCCESS) CHECK_FAIL("%s: %s", aoe->GetStatusName(status), aoe->GetLastError());

    size_t size = 0;
    CHECK(aoe->GetReport(session, NULL, &size) == AOE_SUCCESS);
    char *report = malloc(size);
    CHECK(report != NULL && aoe->GetReport(session, report, &size) == AOE_SUCCESS);
    CHECK(json_valid(report) && json_after(report, "repo_summary") != NULL);
    const char *total = json_after(json_after(report, "repo_summary"), "total_num");
    CHECK(total != NULL && strtol(total, NULL, 10) >= 2);
    free(report);

    aoe->GraphDestroy(graph);
    CHECK(aoe->DestroySession(session) == AOE_SUCCESS);
    CHECK(aoe->Finalize() == AOE_SUCCESS);
    CHECK(dlclose(handle) == 0);
}

TEST(a_compiler_does_without_a_tuner_that_is_not_there) {
    CHECK(dlopen("libaoe-of-another-world.so", RTLD_NOW) == NULL);
}
