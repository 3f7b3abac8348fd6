#include "trainer/onnx/graph_message.h"

#include "storage/base/protobuf_wire.h"
#include "trainer/onnx/operations.h"

namespace berth::onnx {
namespace {

// AttributeProto.AttributeType
constexpr int64_t kFloat = 1, kInt = 2, kInts = 7;

ProtoWriter attribute_message(const Attribute& attribute) {
  ProtoWriter message;
  message.text(1, attribute.name);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    message.int64(3, *number);
    message.int64(20, kInt);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    message.float32(2, *real);
    message.int64(20, kFloat);
  } else {
    for (const int64_t element : std::get<std::vector<int64_t>>(attribute.value)) {
      message.int64(8, element);
    }
    message.int64(20, kInts);
  }
  return message;
}

ProtoWriter node_message(const Node& node) {
  ProtoWriter message;
  for (const std::string& input : node.inputs) message.text(1, input);
  for (const std::string& output : node.outputs) message.text(2, output);
  message.text(3, node.name);
  message.text(4, node.op_type);
  for (const Attribute& attribute : node.attributes) {
    message.message(5, attribute_message(attribute));
  }
  return message;
}

// A ValueInfoProto with a TypeProto.Tensor.
ProtoWriter port_message(const Port& port) {
  ProtoWriter shape;
  for (const Dimension& dimension : port.shape) {
    ProtoWriter size;
    if (const auto* number = std::get_if<int64_t>(&dimension)) {
      size.int64(1, *number);
    } else {
      size.text(2, std::get<std::string>(dimension));
    }
    shape.message(1, size);
  }
  ProtoWriter tensor, type, message;
  tensor.int64(1, static_cast<int64_t>(port.type));
  tensor.message(2, shape);
  type.message(1, tensor);
  message.text(1, port.name);
  message.message(2, type);
  return message;
}

// One entry of TensorProto.external_data.
ProtoWriter entry_message(std::string_view key, std::string_view value) {
  ProtoWriter message;
  message.text(1, key);
  message.text(2, value);
  return message;
}

}  // namespace

std::vector<std::byte> graph_message(const Graph& graph) {
  ProtoWriter message;
  for (const Node& node : graph.nodes()) message.message(1, node_message(node));
  message.text(2, "berth");
  for (const Port& port : graph.inputs()) message.message(11, port_message(port));
  for (const Port& port : graph.outputs()) message.message(12, port_message(port));
  return message.take();
}

std::vector<std::byte> initializer_message(const Initializer& initializer,
                                           const std::optional<DataPlace>& place) {
  const uint64_t bytes = initializer.size_bytes();
  ProtoWriter tensor;
  for (const int64_t dim : initializer.dims) tensor.int64(1, dim);
  tensor.int64(2, static_cast<int64_t>(initializer.type));
  tensor.text(8, initializer.name);
  if (place) {
    tensor.message(13, entry_message("location", place->file));
    tensor.message(13, entry_message("offset", std::to_string(place->offset)));
    tensor.message(13, entry_message("length", std::to_string(bytes)));
    tensor.int64(14, 1);  // EXTERNAL
  } else {
    tensor.begin_bytes(9, bytes);
  }
  ProtoWriter message;
  message.begin_bytes(5, tensor.written().size() + (place ? 0 : bytes));
  std::vector<std::byte> begin = message.take();
  begin.insert(begin.end(), tensor.written().begin(), tensor.written().end());
  return begin;
}

std::vector<std::byte> model_message(uint64_t graph_bytes) {
  ProtoWriter opset, message;
  opset.text(1, "");
  opset.int64(2, kOpset);
  message.int64(1, kIrVersion);
  message.text(2, "berth");
  message.text(3, BERTH_VERSION);
  message.message(8, opset);
  message.begin_bytes(7, graph_bytes);
  return message.take();
}

}  // namespace berth::onnx
