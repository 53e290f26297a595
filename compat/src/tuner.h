// tuner.h - what the ten functions do. None throws; each answers CANN's status, or one of libaoe's from 1000 on.
#ifndef AOE_COMPAT_TUNER_H
#define AOE_COMPAT_TUNER_H

#include "cann.h"

#include <cstdint>

namespace drop_in {

int32_t initialize(const cann::Options *options);
int32_t finalize();
// `first` is where the session goes, or the session's options, and then `second` is where it goes: as AoeInitialize
// learnt, or else as what lies at `first` says.
int32_t create_session(void *first, uint64_t *second);
int32_t destroy_session(uint64_t session);
int32_t set_ge_session(uint64_t session, ge::Session *ge_session);
int32_t set_tuning_graph(uint64_t session, const ge::Graph *graph);
int32_t set_tuning_graph_input(uint64_t session, const std::vector<ge::Tensor> *inputs);
int32_t tuning_graph(uint64_t session, const cann::Options *options);
int32_t set_depend_graphs(uint64_t session, const std::vector<ge::Graph> *graphs);
int32_t set_depend_graphs_inputs(uint64_t session, const std::vector<std::vector<ge::Tensor>> *inputs);

}  // namespace drop_in

#endif
