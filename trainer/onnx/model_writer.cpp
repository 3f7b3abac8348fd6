#include "trainer/onnx/model_writer.h"

#include <utility>

#include "trainer/onnx/graph_message.h"
#include "trainer/onnx/parameter_elements.h"

namespace berth::onnx {
namespace {

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
