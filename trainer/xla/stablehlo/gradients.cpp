#include "trainer/xla/stablehlo/gradients.h"

#include "trainer/xla/stablehlo/derivatives.h"
#include "trainer/xla/stablehlo/operations.h"
#include "trainer/xla/stablehlo/recomputation.h"

namespace berth::stablehlo {
namespace {

// Whether each node up to `last` depends on one of `wrt` by operations that have a derivative.
std::vector<bool> dependence(const Graph& graph, uint32_t last, std::span<const Value> wrt) {
  std::vector<bool> depends(last + 1);
  for (const Value& value : wrt) {
    if (value.index() <= last) depends[value.index()] = true;
  }
  for (uint32_t i = 0; i <= last; ++i) {
    const Node& node = graph.node(i);
    const bool passes = is_float(node.type.element) || node.op == Op::kBarrier;
    if (!passes || node.op == Op::kReduceMax || node.op == Op::kStop) continue;
    for (const uint32_t operand : node.operands) {
      if (depends[operand]) depends[i] = true;
    }
  }
  return depends;
}

}  // namespace

std::vector<Value> gradients(Value loss, std::span<const Value> wrt) {
  if (loss.rank() != 0 || !is_float(loss.element())) fail("gradients", "of no number", {loss});
  Graph& graph = loss.graph();
  const std::vector<bool> depends = dependence(graph, loss.index(), wrt);
  std::vector<Value> derivative(loss.index() + 1);
  derivative[loss.index()] = constant(graph, 1, loss.element());
  Recomputation values(graph);
  for (uint32_t i = loss.index() + 1; i-- > 0;) {
    if (!derivative[i] || !depends[i]) continue;
    values.enter(i, derivative[i]);
    for (const auto& [operand, d] : derivatives(values, i, derivative[i])) {
      if (!depends[operand]) continue;
      Value& sum = derivative[operand];
      sum = sum ? sum + d : d;
    }
  }
  std::vector<Value> results;
  for (const Value& value : wrt) {
    const bool reached = value.index() <= loss.index() && derivative[value.index()];
    results.push_back(reached ? derivative[value.index()]
                              : constant(graph, 0, value.element(), value.shape()));
  }
  return results;
}

}  // namespace berth::stablehlo
