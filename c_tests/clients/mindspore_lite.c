/* MindSpore Lite, GE provider: the whole cycle again for every job type and every model. */
#include "client.h"

static struct client aoe;

/* Here 8, nothing to tune, is an error as well. */
static void tune_model(int with_session, const AoeTensor *inputs, size_t input_count, const AoeOption *tuning,
                       size_t tuning_count) {
    const AoeOption global[] = {{"framework", "1"}, {"device", "0"}, {"precision_mode", "force_fp16"}, {"job_type", "2"}};
    AoeGraph *graph = small_network();
    AoeSessionId session = 0;
    CHECK_OK(aoe.initialize(global, COUNT(global)));
    CHECK_OK(aoe.create_session(&session));
    if (with_session) CHECK_OK(aoe.set_ge_session(session, &ge_session));
    CHECK_OK(aoe.set_tuning_graph(session, graph));
    if (input_count > 0) CHECK_OK(aoe.set_tuning_graph_input(session, inputs, input_count));
    CHECK_OK(aoe.tuning_graph(session, tuning, tuning_count));
    CHECK_OK(aoe.destroy_session(session));
    CHECK_OK(aoe.finalize());
    AoeGraphDestroy(graph);
}

TEST(mindspore_lite_call_order) {
    AoeTensor input = first_step_input();
    const AoeOption unset[] = {{"input_shape", ""}, {"input_format", ""}, {"dynamic_batch_size", ""}, {"dynamic_image_size", ""}, {"dynamic_dims", ""}};
    const AoeOption shape[] = {{"input_shape", "x:256,512"}, {"input_format", "ND"}};
    client_open(&aoe, RTLD_NOW);
    tune_model(0, NULL, 0, unset, COUNT(unset));
    tune_model(1, &input, 1, unset, COUNT(unset));
    tune_model(0, NULL, 0, shape, COUNT(shape));
    CHECK(dlclose(aoe.handle) == 0);
}

TEST(mindspore_lite_finalizes_after_a_failed_step) {
    AoeSessionId session = 0;
    const AoeOption global[] = {{"job_type", "2"}};
    client_open(&aoe, RTLD_NOW);
    CHECK_OK(aoe.initialize(global, COUNT(global)));
    CHECK_OK(aoe.create_session(&session));
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, aoe.set_tuning_graph(session, NULL));
    CHECK_OK(aoe.destroy_session(session));
    CHECK_OK(aoe.finalize());
    tune_model(0, NULL, 0, NULL, 0);
}
