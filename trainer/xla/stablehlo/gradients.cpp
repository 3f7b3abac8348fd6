#include "trainer/xla/stablehlo/gradients.h"

#include <map>
#include <utility>

#include "trainer/xla/stablehlo/derivatives.h"
#include "trainer/xla/stablehlo/operations.h"

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
    if (!is_float(node.type.element) || node.op == Op::kReduceMax || node.op == Op::kStop) continue;
    for (const uint32_t operand : node.operands) {
      if (depends[operand]) depends[i] = true;
    }
  }
  return depends;
}

// The values that derivatives refer to: nodes as they are, or, for the nodes of a part of the
// graph, copies behind a barrier. Reverse mode goes from the last node to the first.
class Recomputation {
 public:
  explicit Recomputation(Graph& graph) : graph_(graph) {}

  // Says that the derivatives of node `index` come next, and that its own is d. The copies of a
  // part are not computed before the first d that is given for it.
  void enter(uint32_t index, Value d) {
    if (graph_.part(index) == part_) return;
    part_ = graph_.part(index);
    start_ = d;
    copies_.clear();
  }

  // What node `index`, or an operand of the node entered, has as its value.
  Value value(uint32_t index) {
    const bool is_recomputed = part_ != 0 && graph_.part(index) == part_;
    return is_recomputed ? copy(index) : Value(graph_, index);
  }

 private:
  Value copy(uint32_t index) {
    if (const auto known = copies_.find(index); known != copies_.end()) return known->second;
    Node node = graph_.node(index);
    Value made(graph_, index);
    if (node.op == Op::kConstant || node.op == Op::kIota) {
      // Costs nothing to keep.
    } else if (graph_.part(index) != part_) {
      made = barrier(made, start_);
    } else {
      for (uint32_t& operand : node.operands) operand = copy(operand).index();
      made = graph_.add(std::move(node));
    }
    return copies_[index] = made;
  }

  Graph& graph_;
  int32_t part_ = 0;
  Value start_{};  // the copies wait for it
  std::map<uint32_t, Value> copies_;
};

}  // namespace

std::vector<Value> gradients(Value loss, std::span<const Value> wrt) {
  if (loss.rank() != 0 || !is_float(loss.element())) fail("gradients", "of no number", {loss});
  Graph& graph = loss.graph();
  const std::vector<bool> depends = dependence(graph, loss.index(), wrt);
  std::vector<Value> derivative(loss.index() + 1);
  derivative[loss.index()] = constant(graph, 1);
  Recomputation values(graph);
  for (uint32_t i = loss.index() + 1; i-- > 0;) {
    const Node& node = graph.node(i);
    if (!derivative[i] || !depends[i] || node.operands.empty()) continue;
    values.enter(i, derivative[i]);
    std::vector<Value> x;
    for (const uint32_t operand : node.operands) x.push_back(values.value(operand));
    const Derivatives all = derivatives(node, x, values.value(i), derivative[i]);
    for (size_t k = 0; k < all.size(); ++k) {
      if (!all[k] || !depends[node.operands[k]]) continue;
      Value& sum = derivative[node.operands[k]];
      sum = sum ? sum + all[k] : all[k];
    }
  }
  std::vector<Value> results;
  for (const Value& value : wrt) {
    const bool reached = value.index() <= loss.index() && derivative[value.index()];
    results.push_back(reached ? convert(derivative[value.index()], value.element())
                              : constant(graph, 0, value.element(), value.shape()));
  }
  return results;
}

}  // namespace berth::stablehlo
