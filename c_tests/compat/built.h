// built.h - what tests of graphs that a program has built share: how such a graph is tuned, and pieces of networks.
#ifndef BUILT_H
#define BUILT_H

#include "client.h"
#include "ge/network.h"

using ge::Described;
using ge::DT_FLOAT;
using ge::DT_FLOAT16;

// Tunes a graph as clients do; answers what AoeTuningGraph does, or the call before it that failed.
inline int32_t tune(const ge::Network &network, const char *job_type, const Tensors &inputs = {}, const Options &options = {},
                    const char *work_path = ".") {
    static ge::Session ge_session;
    EXPECT(AOE_SUCCESS, tuner().initialize({{"work_path", work_path}, {"job_type", job_type}}));
    uint64_t session = 0;
    EXPECT(AOE_SUCCESS, tuner().create_session(session));
    EXPECT(AOE_SUCCESS, tuner().set_ge_session(session, &ge_session));
    int32_t status = tuner().set_tuning_graph(session, ge::Graph(network));
    if (status == AOE_SUCCESS && !inputs.empty()) status = tuner().set_tuning_graph_input(session, inputs);
    if (status == AOE_SUCCESS) status = tuner().tuning_graph(session, options);
    if (status != AOE_SUCCESS) allow_noise();
    EXPECT(AOE_SUCCESS, tuner().destroy_session(session));
    EXPECT(AOE_SUCCESS, tuner().finalize());
    CHECK(ge::LivingBuffers() == 0 && ge::OlderSavings() == 0);
    return status;
}

inline ge::Tensor tensor(ge::DataType type, const std::vector<int64_t> &dims, ge::Format format = ge::FORMAT_ND) {
    return ge::Tensor(ge::TensorDesc(ge::Shape(dims), format, type), nullptr, 0);
}

// Of a convolution with a filter of 3 x 3 in an image in NCHW: data_format is the prototype's default all the same.
inline ge::Values convolution_values() {
    const std::vector<int64_t> ones{1, 1, 1, 1};
    return {{"strides", ones}, {"pads", ones}, {"dilations", ones}, {"groups", 1}, {"offset_x", 0}, {"data_format", "NHWC"}};
}

inline ge::Values product_values() { return {{"transpose_x1", false}, {"transpose_x2", false}, {"offset_x", 0}}; }

inline ge::Values exchange_values() { return {{"reduction", "sum"}, {"group", "hccl_world_group"}, {"fusion", 1}}; }

// Ends a network so that every job finds something: an operator, one to fuse with it, and an exchange.
inline ge::Network ended(ge::Network network, const char *last) {
    network.Operator("relu", "Relu", {{"x", last}});
    network.Operator("exchanged", "HcomAllReduce", {{"x", "relu"}}, exchange_values());
    network.Output("exchanged");
    return network;
}

#endif
