#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/onnx/graph.h"

// The messages of onnx.proto3 (github.com/onnx/onnx).
namespace berth::onnx {

// A GraphProto's nodes, name, inputs and outputs, without its initializers.
std::vector<std::byte> graph_message(const Graph& graph);

// Where the elements of an initializer are, if they are in a file of their own.
struct DataPlace {
  std::string file;
  uint64_t offset;
};

// The beginning of a GraphProto's field `initializer`. With a place, it is the whole field;
// otherwise initializer.size_bytes() bytes must follow it.
std::vector<std::byte> initializer_message(const Initializer& initializer,
                                           const std::optional<DataPlace>& place);

// The beginning of a ModelProto, up to its graph, whose `graph_bytes` bytes must follow it.
std::vector<std::byte> model_message(uint64_t graph_bytes);

}  // namespace berth::onnx
