#include "trainer/onnx/graph.h"

#include <algorithm>
#include <cassert>

#include "storage/base/text.h"

namespace berth::onnx {
namespace {

uint64_t size_of(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return 1;
    case ElementType::kF16:
    case ElementType::kBF16:
      return 2;
    case ElementType::kF32:
      return 4;
    case ElementType::kI64:
      break;
  }
  return 8;
}

}  // namespace

uint64_t Initializer::size_bytes() const {
  uint64_t elements = 1;
  for (const int64_t dim : dims) elements *= static_cast<uint64_t>(dim);
  return elements * size_of(type);
}

Value Graph::input(Port port) {
  inputs_.push_back(std::move(port));
  return {this, inputs_.back().name};
}

void Graph::output(const Value& value, Port port) {
  for (Node& node : nodes_) {
    std::ranges::replace(node.inputs, value.name, port.name);
    std::ranges::replace(node.outputs, value.name, port.name);
  }
  outputs_.push_back(std::move(port));
}

Value Graph::node(std::string_view op_type, const std::vector<Value>& inputs,
                  std::vector<Attribute> attributes) {
  return node(op_type, inputs, std::move(attributes), 1).front();
}

std::vector<Value> Graph::node(std::string_view op_type, const std::vector<Value>& inputs,
                               std::vector<Attribute> attributes, size_t outputs) {
  Node& added = nodes_.emplace_back(Node{.name = unique_name(op_type),
                                         .op_type = std::string(op_type),
                                         .inputs = {},
                                         .outputs = {},
                                         .attributes = std::move(attributes)});
  for (const Value& input : inputs) added.inputs.push_back(input.name);
  std::vector<Value> values;
  for (size_t i = 0; i < outputs; ++i) {
    added.outputs.push_back(cat(added.name, "_output_", i));
    values.push_back({this, added.outputs.back()});
  }
  return values;
}

Value Graph::constant(ElementType type, std::vector<int64_t> dims, Bytes elements) {
  std::vector<std::byte> bytes(elements.begin(), elements.end());
  const auto [place, is_new] = constants_.try_emplace({{type, dims}, bytes});
  if (!is_new) return {this, place->second};
  place->second = cat("constant_", constants_.size() - 1);
  return add(
      {.name = place->second, .type = type, .dims = std::move(dims), .constant = std::move(bytes)});
}

Value Graph::parameter(std::string_view name, size_t parameter, ElementType type,
                       std::vector<int64_t> dims, bool is_transposed) {
  if (is_transposed) {
    assert(dims.size() == 2);
    std::swap(dims[0], dims[1]);
  }
  return add({.name = is_transposed ? cat(name, "_transposed") : std::string(name),
              .type = type,
              .dims = std::move(dims),
              .parameter = parameter,
              .is_transposed = is_transposed});
}

Value Graph::add(Initializer initializer) {
  const auto [place, is_new] = places_.try_emplace(initializer.name, initializers_.size());
  if (is_new) initializers_.push_back(std::move(initializer));
  return {this, place->first};
}

std::string Graph::unique_name(std::string_view op_type) {
  const std::string name = cat("/", part_, "/", op_type);
  const int before = names_[name]++;
  return before == 0 ? name : cat(name, "_", before);
}

}  // namespace berth::onnx
