#include "trainer/onnx/model_writer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/protobuf_wire.h"
#include "storage/formats/converted_tensors.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/onnx/graph.h"
#include "trainer/onnx/operations.h"

// The messages of onnx.proto3 (github.com/onnx/onnx).
namespace berth::onnx {
namespace {

// Where the elements of an initializer are, if they are in a file of their own.
struct DataPlace {
  std::string file;
  uint64_t offset;
};

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

// A GraphProto's nodes, name, inputs and outputs, without its initializers.
std::vector<std::byte> graph_message(const Graph& graph) {
  ProtoWriter message;
  for (const Node& node : graph.nodes()) message.message(1, node_message(node));
  message.text(2, "berth");
  for (const Port& port : graph.inputs()) message.message(11, port_message(port));
  for (const Port& port : graph.outputs()) message.message(12, port_message(port));
  return message.take();
}

// The beginning of a GraphProto's field `initializer`. With a place, it is the whole field;
// otherwise initializer.size_bytes() bytes must follow it.
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

// The beginning of a ModelProto, up to its graph, whose `graph_bytes` bytes must follow it.
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

constexpr size_t kBlockElements = size_t{1} << 18;

DType dtype_of(ElementType type) {
  if (type == ElementType::kF16) return DType::kF16;
  return type == ElementType::kBF16 ? DType::kBF16 : DType::kF32;
}

void write_block(ByteSink& sink, const Initializer& initializer, std::span<const float> elements) {
  const NamedTensor block{.name = initializer.name,
                          .shape = {static_cast<int64_t>(elements.size())},
                          .data = std::as_bytes(elements)};
  sink.write(ConvertedTensors(std::span(&block, 1), dtype_of(initializer.type)).tensors()[0].data);
}

// Writes the elements of an initializer that is a parameter, in its type and order. Holds the
// parameter's fp32 elements in memory, and about a MiB more. Throws kBadData, naming the parameter,
// where a finite element would become infinite.
void write_parameter(ByteSink& sink, const Initializer& initializer,
                     const ParameterTensors& values) {
  const std::vector<float> elements = values.read(initializer.parameter.value());
  if (!initializer.is_transposed) {
    for (size_t at = 0; at < elements.size(); at += kBlockElements) {
      const size_t count = std::min(kBlockElements, elements.size() - at);
      write_block(sink, initializer, std::span(elements).subspan(at, count));
    }
    return;
  }
  const auto rows = static_cast<size_t>(initializer.dims[0]);
  const auto columns = static_cast<size_t>(initializer.dims[1]);
  const size_t rows_of_block = std::max<size_t>(1, kBlockElements / std::max<size_t>(1, columns));
  std::vector<float> block;
  for (size_t first = 0; first < rows; first += rows_of_block) {
    const size_t count = std::min(rows_of_block, rows - first);
    block.resize(count * columns);
    for (size_t column = 0; column < columns; ++column) {
      for (size_t row = 0; row < count; ++row) {
        block[row * columns + column] = elements[column * rows + first + row];
      }
    }
    write_block(sink, initializer, block);
  }
}

constexpr uint64_t kAlignment = 4096;
// Smaller tensors stay in the model's file: readers compute with some of them, such as shapes, when
// they load the graph.
constexpr uint64_t kSmallestInDataFile = 1024;

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

void write_elements(ByteSink& sink, const Initializer& initializer,
                    const ParameterTensors& values) {
  if (initializer.parameter) return write_parameter(sink, initializer, values);
  sink.write(initializer.constant);
}

}  // namespace

ModelWriter::ModelWriter(const Graph& graph, const ParameterTensors& values, std::string data_file,
                         uint64_t largest_message)
    : graph_(graph),
      values_(values),
      data_file_(std::move(data_file)),
      nodes_(graph_message(graph)) {
  lay_out(/*with_data_file=*/false);
  if (model_bytes() > largest_message) lay_out(/*with_data_file=*/true);
}

void ModelWriter::lay_out(bool with_data_file) {
  pieces_.clear();
  for (const Initializer& initializer : graph_.initializers()) {
    const uint64_t bytes = initializer.size_bytes();
    Piece piece{.initializer = &initializer, .before = {}};
    std::optional<DataPlace> place;
    if (with_data_file && initializer.parameter && bytes >= kSmallestInDataFile) {
      piece.is_in_data_file = true;
      piece.data_offset = aligned(data_bytes_);
      data_bytes_ = piece.data_offset + bytes;
      place = DataPlace{data_file_, piece.data_offset};
    }
    piece.before = initializer_message(initializer, place);
    pieces_.push_back(std::move(piece));
  }
}

uint64_t ModelWriter::graph_bytes() const {
  uint64_t bytes = nodes_.size();
  for (const Piece& piece : pieces_) {
    bytes += piece.before.size();
    if (!piece.is_in_data_file) bytes += piece.initializer->size_bytes();
  }
  return bytes;
}

uint64_t ModelWriter::model_bytes() const {
  const uint64_t bytes = graph_bytes();
  return model_message(bytes).size() + bytes;
}

void ModelWriter::write_model(ByteSink& sink) const {
  sink.write(model_message(graph_bytes()));
  sink.write(nodes_);
  for (const Piece& piece : pieces_) {
    sink.write(piece.before);
    if (!piece.is_in_data_file) write_elements(sink, *piece.initializer, values_);
  }
}

void ModelWriter::write_data(ByteSink& sink) const {
  uint64_t offset = 0;
  for (const Piece& piece : pieces_) {
    if (!piece.is_in_data_file) continue;
    sink.write(std::vector<std::byte>(piece.data_offset - offset));
    write_elements(sink, *piece.initializer, values_);
    offset = piece.data_offset + piece.initializer->size_bytes();
  }
}

}  // namespace berth::onnx
