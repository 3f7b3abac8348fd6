#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/onnx/graph.h"

namespace berth::onnx {

// A message of protocol buffers has fewer than 2^31 bytes.
inline constexpr uint64_t kLargestMessage = (uint64_t{1} << 31) - 1;

// Writes a graph and its parameters as a model (onnx.proto3, ModelProto). If a model is too large
// for one message, its parameters are in a second file, except for small ones. There, each
// parameter begins at a multiple of 4096 bytes, so that it can be mapped into memory. Borrows the
// graph and the values, which are the parameters that the graph was made of.
//
// It holds one parameter at a time in memory, and may write each file more than once.
class ModelWriter {
 public:
  // `data_file` is the name of the second file, which stands beside the first one.
  ModelWriter(const Graph& graph, const ParameterTensors& values, std::string data_file,
              uint64_t largest_message = kLargestMessage);

  bool has_data_file() const { return data_bytes_ > 0; }
  uint64_t model_bytes() const;
  uint64_t data_bytes() const { return data_bytes_; }

  // Close no sink. Throw kBadData, naming the parameter, where a finite element would become
  // infinite in the type of the file.
  void write_model(ByteSink& sink) const;
  void write_data(ByteSink& sink) const;

 private:
  // What stands before the elements of an initializer. The elements follow in the model's file, or
  // are at `data_offset` of the other one.
  struct Piece {
    const Initializer* initializer;
    std::vector<std::byte> before;
    bool is_in_data_file = false;
    uint64_t data_offset = 0;
  };

  void lay_out(bool with_data_file);
  uint64_t graph_bytes() const;

  const Graph& graph_;
  const ParameterTensors& values_;
  const std::string data_file_;
  std::vector<std::byte> nodes_;  // of the graph, with its inputs and outputs
  std::vector<Piece> pieces_;
  uint64_t data_bytes_ = 0;
};

}  // namespace berth::onnx
