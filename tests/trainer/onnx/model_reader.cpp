#include "tests/trainer/onnx/model_reader.h"

#include <cstring>

#include "storage/base/dtype.h"
#include "storage/base/protobuf_wire.h"

namespace berth::onnx {
namespace {

template <typename T>
std::vector<double> numbers(const std::vector<std::byte>& bytes, double (*convert)(T)) {
  std::vector<double> values;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + at, sizeof(T));
    values.push_back(convert(element));
  }
  return values;
}

ReadNode read_node(Bytes message) {
  ReadNode node;
  for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) node.inputs.emplace_back(field.as_text());
    if (field.number == 2) node.outputs.emplace_back(field.as_text());
    if (field.number == 3) node.name = field.as_text();
    if (field.number == 4) node.op_type = field.as_text();
    if (field.number != 5) return;
    std::string name;
    for_each_field(field.as_bytes(), [&](const ProtoField& part) {
      if (part.number == 1) name = part.as_text();
      if (part.number == 2) node.reals[name] = part.as_float32();
      if (part.number == 3 || part.number == 8) node.integers[name].push_back(part.as_int64());
    });
  });
  return node;
}

ReadPort read_port(Bytes message) {
  ReadPort port;
  const auto read_size = [&](const ProtoField& field) {
    for_each_field(field.as_bytes(), [&](const ProtoField& size) {
      port.shape.push_back(size.number == 1 ? std::to_string(size.as_int64())
                                            : std::string(size.as_text()));
    });
  };
  const auto read_tensor_type = [&](const ProtoField& field) {
    if (field.number == 1) port.type = field.as_int64();
    if (field.number == 2) for_each_field(field.as_bytes(), read_size);
  };
  for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) port.name = field.as_text();
    if (field.number != 2) return;
    for_each_field(field.as_bytes(), [&](const ProtoField& type) {
      for_each_field(type.as_bytes(), read_tensor_type);
    });
  });
  return port;
}

void read_initializer(Bytes message, Bytes data, ReadModel& model) {
  ReadTensor tensor;
  std::string name;
  for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) tensor.dims.push_back(field.as_int64());
    if (field.number == 2) tensor.type = field.as_int64();
    if (field.number == 8) name = field.as_text();
    if (field.number == 9) {
      tensor.elements.assign(field.as_bytes().begin(), field.as_bytes().end());
    }
    if (field.number != 13) return;
    std::string key;
    for_each_field(field.as_bytes(), [&](const ProtoField& entry) {
      if (entry.number == 1) key = entry.as_text();
      if (entry.number == 2) tensor.external[key] = entry.as_text();
    });
  });
  if (!tensor.external.empty()) {
    const Bytes part = data.subspan(std::stoul(tensor.external.at("offset")),
                                    std::stoul(tensor.external.at("length")));
    tensor.elements.assign(part.begin(), part.end());
  }
  ++model.initializer_fields;
  model.initializers[name] = std::move(tensor);
}

void read_graph(Bytes message, Bytes data, ReadModel& model) {
  for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) model.nodes.push_back(read_node(field.as_bytes()));
    if (field.number == 5) read_initializer(field.as_bytes(), data, model);
    if (field.number == 11) model.inputs.push_back(read_port(field.as_bytes()));
    if (field.number == 12) model.outputs.push_back(read_port(field.as_bytes()));
  });
}

}  // namespace

std::vector<double> ReadTensor::values() const {
  switch (type) {
    case 1:
      return numbers<float>(elements, [](float x) { return double{x}; });
    case 7:
      return numbers<int64_t>(elements, [](int64_t x) { return static_cast<double>(x); });
    case 10:
      return numbers<uint16_t>(elements, [](uint16_t x) { return double{from_f16(x)}; });
    case 16:
      return numbers<uint16_t>(elements, [](uint16_t x) { return double{from_bf16(x)}; });
    default:
      return {};
  }
}

ReadModel read_model(Bytes bytes, Bytes data) {
  ReadModel model;
  for_each_field(bytes, [&](const ProtoField& field) {
    if (field.number == 1) model.ir_version = field.as_int64();
    if (field.number == 2) model.producer_name = field.as_text();
    if (field.number == 3) model.producer_version = field.as_text();
    if (field.number == 7) read_graph(field.as_bytes(), data, model);
    if (field.number != 8) return;
    for_each_field(field.as_bytes(), [&](const ProtoField& opset) {
      if (opset.number == 2) model.opset = opset.as_int64();
    });
  });
  return model;
}

}  // namespace berth::onnx
