#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "storage/base/bytes.h"

// Graphs of ONNX (github.com/onnx/onnx, docs/IR.md): nodes that compute values from values.
namespace berth::onnx {

class Graph;

// An input, an initializer or what a node computes, by its name. Borrows the graph.
struct Value {
  Graph* graph = nullptr;
  std::string name{};

  explicit operator bool() const { return graph != nullptr; }
};

// The numbers are TensorProto.DataType's.
enum class ElementType : uint8_t { kF32 = 1, kI64 = 7, kBool = 9, kF16 = 10, kBF16 = 16 };

// An attribute is named as the definition of its operator names it.
using AttributeValue = std::variant<int64_t, float, std::vector<int64_t>>;
struct Attribute {
  std::string name;
  AttributeValue value;
};

struct Node {
  std::string name, op_type;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
};

// The size of a dimension, or the name of a size that each call may choose.
using Dimension = std::variant<int64_t, std::string>;

// An input or an output of the graph.
struct Port {
  std::string name;
  ElementType type;
  std::vector<Dimension> shape;
};

// A tensor that the file holds: a constant with its bytes, or a parameter of the model, whose
// elements the writer reads.
struct Initializer {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<int64_t> dims{};
  std::vector<std::byte> constant{};  // row-major, little-endian
  std::optional<size_t> parameter{};  // its number among the model's parameters
  bool is_transposed = false;         // a matrix whose rows are the parameter's columns

  uint64_t size_bytes() const;
};

// A graph under construction. Nodes are added in the order in which they can be computed. Every
// name is unique, and a constant or parameter that is asked for again is the same initializer.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;  // values point to their graph
  Graph& operator=(const Graph&) = delete;

  Value input(Port port);
  // Renames `value` to port.name, and makes it an output.
  void output(const Value& value, Port port);

  // What the names of the nodes begin with that are added from now on: "layer.0/attention".
  void begin_part(std::string_view name) { part_ = name; }
  // Adds a node with one output, or with `outputs` of them.
  Value node(std::string_view op_type, const std::vector<Value>& inputs,
             std::vector<Attribute> attributes = {});
  std::vector<Value> node(std::string_view op_type, const std::vector<Value>& inputs,
                          std::vector<Attribute> attributes, size_t outputs);

  Value constant(ElementType type, std::vector<int64_t> dims, Bytes elements);
  // Parameter number `parameter` with the shape `dims`; transposed only if it is a matrix.
  Value parameter(std::string_view name, size_t parameter, ElementType type,
                  std::vector<int64_t> dims, bool is_transposed = false);

  std::span<const Port> inputs() const { return inputs_; }
  std::span<const Port> outputs() const { return outputs_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Initializer> initializers() const { return initializers_; }

 private:
  std::string unique_name(std::string_view op_type);
  Value add(Initializer initializer);

  std::vector<Port> inputs_, outputs_;
  std::vector<Node> nodes_;
  std::vector<Initializer> initializers_;
  std::string part_;
  std::map<std::string, int> names_;  // how often each name of a node was asked for
  std::map<std::string, size_t, std::less<>> places_;  // of initializers by name
  using ConstantKey =
      std::pair<std::pair<ElementType, std::vector<int64_t>>, std::vector<std::byte>>;
  std::map<ConstantKey, std::string> constants_;  // their names
};

}  // namespace berth::onnx
