#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/base/bytes.h"

// What onnx.proto3 says of the bytes of a model, for tests.
namespace berth::onnx {

struct ReadTensor {
  int64_t type = 0;  // TensorProto.DataType
  std::vector<int64_t> dims{};
  std::vector<std::byte> elements{};
  std::map<std::string, std::string> external{};

  // Exact for every type that berth writes, up to 2^53.
  std::vector<double> values() const;
};

struct ReadNode {
  std::string name, op_type;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::vector<int64_t>> integers;
  std::map<std::string, float> reals;

  int64_t integer(const std::string& attribute) const { return integers.at(attribute).at(0); }
};

struct ReadPort {
  std::string name;
  int64_t type = 0;
  std::vector<std::string> shape{};  // numbers, or names of sizes

  bool operator==(const ReadPort&) const = default;
};

struct ReadModel {
  int64_t ir_version = 0, opset = 0;
  std::string producer_name, producer_version;
  std::vector<ReadNode> nodes;
  std::vector<ReadPort> inputs, outputs;
  std::map<std::string, ReadTensor> initializers;
  size_t initializer_fields = 0;  // more than initializers if a name occurs twice
};

// `data` is the content of the second file, if there is one.
ReadModel read_model(Bytes model, Bytes data = {});

}  // namespace berth::onnx
