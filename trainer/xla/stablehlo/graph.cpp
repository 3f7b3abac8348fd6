#include "trainer/xla/stablehlo/graph.h"

#include <iterator>
#include <utility>

#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth::stablehlo {
namespace {

// By ElementType.
constexpr const char* kElementTypes[] = {"i1", "i32", "ui32", "ui64", "f32", "bf16"};

// By Op.
constexpr const char* kOperations[] = {
    // clang-format off
    "parameter", "constant", "iota",
    "negate", "exponential", "exponential_minus_one", "log", "log_plus_one", "tanh", "sqrt", "rsqrt",
    "erf", "cosine", "sine", "is_finite",
    "add", "subtract", "multiply", "divide", "maximum",
    "and", "or", "xor", "shift_right_logical",
    "compare", "select", "convert",
    "broadcast_in_dim", "reshape", "transpose", "slice", "concatenate", "pad",
    "reduce", "reduce", "dot_general", "gather", "scatter", "sort",
    "all_reduce", "optimization_barrier", "softmax", "normalize", "stop"};
// clang-format on
static_assert(std::size(kOperations) == static_cast<size_t>(Op::kStop) + 1);

}  // namespace

const char* name_of(Op op) { return kOperations[static_cast<size_t>(op)]; }

int64_t TensorType::elements() const { return element_count(shape); }

std::string TensorType::text() const {
  std::string text = "tensor<";
  for (const int64_t size : shape) text += std::to_string(size) + "x";
  return text + kElementTypes[static_cast<size_t>(element)] + ">";
}

int64_t Value::size(int64_t dimension) const {
  const int64_t at = dimension < 0 ? rank() + dimension : dimension;
  if (at < 0 || at >= rank()) fail("size", "no dimension " + std::to_string(dimension), {*this});
  return shape()[static_cast<size_t>(at)];
}

Value Graph::parameter(ElementType element, Dims shape) {
  return add({.op = Op::kParameter,
              .type = {element, std::move(shape)},
              .attributes = {Dims{parameters_++}}});
}

Value Graph::add(Node node) {
  if (const auto known = index_of_.find(&node); known != index_of_.end()) {
    return {*this, known->second};
  }
  const uint32_t index = size();
  nodes_.push_back(std::move(node));
  parts_.push_back(current_part_);
  index_of_.emplace(&nodes_.back(), index);
  return {*this, index};
}

Value make(Op op, TensorType type, const std::vector<Value>& operands,
           std::array<Dims, 4> attributes) {
  Node node{.op = op, .type = std::move(type), .attributes = std::move(attributes)};
  for (const Value& operand : operands) node.operands.push_back(operand.index());
  return operands[0].graph().add(std::move(node));
}

void fail(const std::string& operation, const std::string& problem,
          const std::vector<Value>& operands) {
  const std::string types =
      berth::joined(operands, ", ", [&](const Value& operand) { return operand.type().text(); });
  throw Error(Code::kInternal, problem + " (operands: " + types + ")", operation);
}

}  // namespace berth::stablehlo
