/*
 * client.h - what the replays of CANN's clients share: the functions as a client looks them up, and a
 * network to tune. The order of calls, the options and the checks are each client's own.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "../support/loaded.h"
#include "../support/network.h"

/* The ten functions that a client of CANN's tuner finds with dlsym. */
struct client {
    void *handle;
    AoeStatus (*initialize)(const AoeOption *, size_t);
    AoeStatus (*finalize)(void);
    AoeStatus (*create_session)(AoeSessionId *);
    AoeStatus (*destroy_session)(AoeSessionId);
    AoeStatus (*set_ge_session)(AoeSessionId, void *);
    AoeStatus (*set_depend_graphs)(AoeSessionId, const AoeGraph *const *, size_t);
    AoeStatus (*set_depend_graphs_inputs)(AoeSessionId, const AoeTensor *const *, const size_t *, size_t);
    AoeStatus (*set_tuning_graph)(AoeSessionId, const AoeGraph *);
    AoeStatus (*set_tuning_graph_input)(AoeSessionId, const AoeTensor *, size_t);
    AoeStatus (*tuning_graph)(AoeSessionId, const AoeOption *, size_t);
};

static inline void client_open(struct client *client, int flags) {
    client->handle = load_library(flags);
    LOOK_UP(client->handle, "AoeInitialize", client->initialize);
    LOOK_UP(client->handle, "AoeFinalize", client->finalize);
    LOOK_UP(client->handle, "AoeCreateSession", client->create_session);
    LOOK_UP(client->handle, "AoeDestroySession", client->destroy_session);
    LOOK_UP(client->handle, "AoeSetGeSession", client->set_ge_session);
    LOOK_UP(client->handle, "AoeSetDependGraphs", client->set_depend_graphs);
    LOOK_UP(client->handle, "AoeSetDependGraphsInputs", client->set_depend_graphs_inputs);
    LOOK_UP(client->handle, "AoeSetTuningGraph", client->set_tuning_graph);
    LOOK_UP(client->handle, "AoeSetTuningGraphInput", client->set_tuning_graph_input);
    LOOK_UP(client->handle, "AoeTuningGraph", client->tuning_graph);
}

/* Stands in for the client's ge::Session, which the tuner never looks into. */
static uint64_t ge_session __attribute__((unused)) = 42;

/* The input of small_network with real data in it. */
static inline AoeTensor first_step_input(void) {
    static const int64_t dims[] = {256, 512};
    static uint16_t data[256 * 512];
    AoeTensor input = tensor_of(AOE_DT_FLOAT16, dims, 2);
    input.data = data;
    input.data_size = sizeof data;
    return input;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What every client but one takes for good. */
#define TUNED_OR_NOTHING_TO_TUNE(call)                                                                                \
    do {                                                                                                              \
        AoeStatus got = (call);                                                                                       \
        if (got != AOE_SUCCESS && got != AOE_ERROR_NON_OPTIMIZE_GRAPH)                                                \
            CHECK_FAIL("%s is %d: %s", #call, (int)got, AoeGetLastError());                                           \
    } while (0)

#endif
