// MindSpore Lite, GE provider: the whole cycle again for every job type and every model, options of the user passed on
// as they are; nothing to tune is an error to it. Its converter drives the command line instead (c_tests/clients).
#include "client.h"

static ge::Session ge_session;

// Answers what the tuning did; everything around it must succeed.
static int32_t tune(const Options &global, const ge::Graph &graph, ge::Session *session_of_ge, const Tensors &inputs,
                    const Options &tuning) {
    const Library library(RTLD_NOW);
    Functions aoe;
    aoe.find_seven(library);
    library.find("AoeSetTuningGraphInput", aoe.set_tuning_graph_input);
    EXPECT(AOE_SUCCESS, aoe.initialize(global));
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, aoe.create_session(session));
    if (session_of_ge != nullptr) EXPECT(AOE_SUCCESS, aoe.set_ge_session(session, session_of_ge));
    EXPECT(AOE_SUCCESS, aoe.set_tuning_graph(session, graph));
    if (!inputs.empty()) EXPECT(AOE_SUCCESS, aoe.set_tuning_graph_input(session, inputs));
    const int32_t status = aoe.tuning_graph(session, tuning);
    EXPECT(AOE_SUCCESS, aoe.destroy_session(session));
    EXPECT(AOE_SUCCESS, aoe.finalize());
    return status;
}

static const Options unset = {{"input_shape", ""}, {"input_format", ""}, {"dynamic_batch_size", ""}, {"dynamic_image_size", ""}, {"dynamic_dims", ""}};

TEST(call_order) {
    const Options operators = {{"framework", "1"}, {"device", "0"}, {"precision_mode", "force_fp16"}, {"job_type", "2"}};
    EXPECT(AOE_SUCCESS, tune(operators, product(), nullptr, {}, unset));
    EXPECT(AOE_SUCCESS, tune(operators, product(), &ge_session, first_step(), unset));
    EXPECT(AOE_SUCCESS, tune({{"job_type", "2"}}, slashes(), nullptr, {}, {{"input_shape", "x:128,512"}, {"input_format", "ND"}}));
    EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, tune(operators, nothing(), nullptr, {}, unset));
}

TEST(each_job_is_a_cycle_of_its_own) {
    for (const char *job : {"1", "2"}) {
        const Options global = {{"framework", "1"}, {"device", "0"}, {"precision_mode", "force_fp16"}, {"job_type", job}};
        EXPECT(AOE_SUCCESS, tune(global, product(), &ge_session, first_step(), unset));
        EXPECT(AOE_SUCCESS, tune(global, slashes(), nullptr, {}, unset));
    }
    // A cycle has a result file of its own.
    CHECK(result_files_in(".", "aoe_result_sgat_").size() == 2 && result_files_in(".").size() == 2);
}

TEST(batch_sizes_of_an_open_graph_are_tuned_one_by_one) {
    const Options operators = {{"framework", "1"}, {"device", "0"}, {"job_type", "2"}};
    Options tuning = unset;
    EXPECT(AOE_ERROR_DYNAMIC_GRAPH, tune(operators, open_batch(), nullptr, {}, tuning));
    tuning["dynamic_batch_size"] = "64,256";
    tuning["input_format"] = "ND";
    EXPECT(AOE_SUCCESS, tune(operators, open_batch(), nullptr, {}, tuning));
}

TEST(keys_of_the_user_that_only_others_know_are_named_and_passed_over) {
    const Options global = {{"framework", "1"}, {"job_type", "2"}, {"mdl_bank_place", "/x"}, {"empty_and_unknown", ""}};
    EXPECT(AOE_SUCCESS, tune(global, product(), nullptr, {}, {{"ge.exec.whatever", "1"}, {"model_path", "elsewhere"}}));
    const std::string text = printed();
    CHECK(text.find("mdl_bank_place") != std::string::npos);
    CHECK(text.find("model_path") != std::string::npos);
    CHECK(text.find("empty_and_unknown") == std::string::npos);
}
