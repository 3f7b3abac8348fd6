#include "trainer/xla/stablehlo/recomputation.h"

#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {

void Recomputation::enter(uint32_t index, Value d) {
  if (graph_.part(index) == part_) return;
  part_ = graph_.part(index);
  start_ = d;
  copies_.clear();
}

Value Recomputation::value(uint32_t index) {
  const bool is_recomputed = part_ != 0 && graph_.part(index) == part_;
  return is_recomputed ? copy(index) : Value(graph_, index);
}

Value Recomputation::copy(uint32_t index) {
  if (const auto known = copies_.find(index); known != copies_.end()) return known->second;
  Node node = graph_.node(index);
  Value made(graph_, index);
  if (node.op == Op::kConstant || node.op == Op::kIota) {
    // Costs nothing to keep.
  } else if (graph_.part(index) != part_) {
    made = barrier({made, start_})[0];
  } else {
    for (uint32_t& operand : node.operands) operand = copy(operand).index();
    made = graph_.add(std::move(node));
  }
  copies_[index] = made;
  return made;
}

}  // namespace berth::stablehlo
