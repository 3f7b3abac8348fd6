#pragma once

#include <cstdint>
#include <map>

#include "trainer/xla/stablehlo/graph.h"

namespace berth::stablehlo {

// The values that derivatives refer to: nodes as they are, or, for the nodes of a part of the
// graph, copies behind a barrier. Used by one reverse pass, which goes from the last node to the
// first.
class Recomputation {
 public:
  explicit Recomputation(Graph& graph) : graph_(graph) {}

  Graph& graph() const { return graph_; }
  // Says that the derivatives of node `index` come next, and that its own is d. The copies of a
  // part are not computed before the first d that is given for it.
  void enter(uint32_t index, Value d);
  // What node `index`, or an operand of the node entered, has as its value.
  Value value(uint32_t index);

 private:
  Value copy(uint32_t index);

  Graph& graph_;
  int32_t part_ = 0;
  Value start_{};  // the copies wait for it
  std::map<uint32_t, Value> copies_;
};

}  // namespace berth::stablehlo
