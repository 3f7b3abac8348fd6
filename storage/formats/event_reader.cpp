#include "storage/formats/event_reader.h"

#include <cstring>

#include "storage/base/protobuf_wire.h"

namespace berth {
namespace {

// Field numbers of event.proto, summary.proto and tensor.proto.
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
constexpr uint32_t kSummaryValue = 1;
constexpr uint32_t kTag = 1, kSimpleValue = 2, kTensor = 8;
constexpr uint32_t kDType = 1, kShape = 2, kContent = 4, kFloats = 5, kDoubles = 6;
constexpr uint32_t kShapeDimension = 2, kDimensionSize = 1;
constexpr uint64_t kFloat = 1, kDouble = 2;

uint64_t elements_of(Bytes shape) {
  uint64_t elements = 1;
  for_each_field(shape, [&](const ProtoField& dimension) {
    if (dimension.number != kShapeDimension) return;
    uint64_t size = 0;
    for_each_field(dimension.as_bytes(), [&](const ProtoField& field) {
      if (field.number == kDimensionSize) size = field.as_varint();
    });
    elements = size == 1 ? elements : 0;  // only whether the tensor has exactly one element matters
  });
  return elements;
}

template <typename T>
std::optional<double> first_of(Bytes values) {
  if (values.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, values.data(), sizeof(T));
  return static_cast<double>(value);
}

// The value of a tensor that consists of one float or double.
std::optional<double> number_of(Bytes tensor) {
  uint64_t dtype = 0, elements = 1;
  std::optional<double> number;
  Bytes content;
  for_each_field(tensor, [&](const ProtoField& field) {
    const bool packed = field.type == WireType::kLengthDelimited;
    if (field.number == kDType) dtype = field.as_varint();
    if (field.number == kShape) elements = elements_of(field.as_bytes());
    if (field.number == kContent) content = field.as_bytes();
    if (field.number == kFloats) {
      number = packed ? first_of<float>(field.payload) : field.as_float32();
    }
    if (field.number == kDoubles) {
      number = packed ? first_of<double>(field.payload) : field.as_float64();
    }
  });
  if (elements != 1) return std::nullopt;
  if (dtype == kFloat && !content.empty()) number = first_of<float>(content);
  if (dtype == kDouble && !content.empty()) number = first_of<double>(content);
  return dtype == kFloat || dtype == kDouble ? number : std::nullopt;
}

SummaryValue parse_value(Bytes message) {
  SummaryValue value;
  for_each_field(message, [&](const ProtoField& field) {
    if (field.number == kTag) value.tag = field.as_text();
    if (field.number == kSimpleValue) value.scalar = field.as_float32();
    if (field.number == kTensor) value.scalar = number_of(field.as_bytes());
  });
  return value;
}

}  // namespace

Event parse_event(Bytes record) {
  Event event;
  for_each_field(record, [&](const ProtoField& field) {
    if (field.number == kWallTime) event.wall_time_s = field.as_float64();
    if (field.number == kStep) event.step = field.as_int64();
    if (field.number == kFileVersion) event.file_version = field.as_text();
    if (field.number != kSummary) return;
    for_each_field(field.as_bytes(), [&](const ProtoField& value) {
      if (value.number == kSummaryValue) event.values.push_back(parse_value(value.as_bytes()));
    });
  });
  return event;
}

}  // namespace berth
