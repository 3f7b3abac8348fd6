#include "trainer/xla/stablehlo/graph.h"

#include <utility>

#include "storage/base/error.h"

namespace berth::stablehlo {
namespace {

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::kPred:
      return "i1";
    case ElementType::kS32:
      return "i32";
    case ElementType::kU32:
      return "ui32";
    case ElementType::kU64:
      return "ui64";
    case ElementType::kF32:
      return "f32";
    case ElementType::kBF16:
      return "bf16";
  }
  return "";
}

}  // namespace

int64_t TensorType::elements() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::string TensorType::text() const {
  std::string text = "tensor<";
  for (const int64_t size : shape) text += std::to_string(size) + "x";
  return text + name_of(element) + ">";
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

void fail(const std::string& operation, const std::string& problem,
          const std::vector<Value>& operands) {
  std::string types;
  for (const Value& operand : operands) {
    types += (types.empty() ? "" : ", ") + operand.type().text();
  }
  throw Error(Code::kInternal, problem + " (operands: " + types + ")", operation);
}

}  // namespace berth::stablehlo
