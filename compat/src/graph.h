// graph.h - what a client's ge::Graph and ge::Tensor hold, read through the client's own libraries.
#ifndef AOE_COMPAT_GRAPH_H
#define AOE_COMPAT_GRAPH_H

#include "cann.h"

#include <aoe.h>
#include <memory>

namespace drop_in {

struct GraphDeleter {
    void operator()(AoeGraph *graph) const;
};
using GraphPointer = std::unique_ptr<AoeGraph, GraphDeleter>;

// Reads a graph: GE writes it as AIR into memory (ge::Graph::SaveToMem), or, where it has no such function or that
// fails, into a file that nobody else can open (ge::Graph::SaveToFile); libaoe reads that. Neither the bytes nor the
// file outlive the call.
//
// Throws Failure with AOE_ERROR_INVALID_GRAPH: GE has neither function, cannot write the graph, or writes what is
// no AIR; AOE_ERROR_IO: there is no room for the file.
GraphPointer read_graph(const ge::Graph &graph);

// Descriptions of tensors, with the memory that they point into. Their elements are not read: they may lie in a
// device's memory, and a tuner has no use for them.
class TensorDescriptions {
  public:
    // Throws Failure with AOE_ERROR_INVALID_GRAPH where GE lacks a function that this needs.
    explicit TensorDescriptions(const std::vector<ge::Tensor> &tensors);

    const AoeTensor *data() const { return tensors_.data(); }
    size_t size() const { return tensors_.size(); }

  private:
    std::vector<std::vector<int64_t>> dims_;
    std::vector<AoeTensor> tensors_;
};

}  // namespace drop_in

#endif
