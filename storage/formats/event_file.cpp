#include "storage/formats/event_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "storage/base/protobuf_wire.h"
#include "storage/formats/tfrecord.h"

namespace berth {
namespace {

// Field numbers of the messages in event files, as tensorboard/compat/proto defines them:
// event.proto, summary.proto, tensor.proto, tensor_shape.proto.
namespace fields {

namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
namespace summary {
constexpr uint32_t kValue = 1;
}
namespace value {
constexpr uint32_t kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
}
namespace metadata {
constexpr uint32_t kPluginData = 1, kDescription = 3, kDataClass = 4;
constexpr uint32_t kPluginName = 1, kPluginContent = 2;       // of PluginData
constexpr uint64_t kTensorClass = 2, kBlobSequenceClass = 3;  // of kDataClass
}  // namespace metadata
namespace tensor {
constexpr uint32_t kDType = 1, kShape = 2, kContent = 4, kFloats = 5, kDoubles = 6, kTexts = 8;
constexpr uint64_t kFloat = 1, kDouble = 2, kText = 7;  // of kDType
constexpr uint32_t kShapeDim = 2, kDimSize = 1;         // of TensorShapeProto
}  // namespace tensor

// The messages of plugins/hparams/plugin_data.proto, and google.protobuf.Value.
namespace hparams {
constexpr uint32_t kSessionStart = 3, kSessionEnd = 4;
constexpr uint32_t kParameters = 1, kStartTime = 5;    // of SessionStartInfo
constexpr uint32_t kEntryKey = 1, kEntryValue = 2;     // of its map
constexpr uint32_t kNumber = 2, kText = 3, kBool = 4;  // of Value
constexpr uint32_t kStatus = 1, kEndTime = 2;          // of SessionEndInfo
constexpr uint64_t kSuccess = 1;
}  // namespace hparams

}  // namespace fields

constexpr size_t kPrCurveRows = 6;
constexpr uint32_t kPrCurveThresholds = 2;  // of PrCurvePluginData, plugins/pr_curve

uint64_t elements_of(Bytes shape) {
  uint64_t elements = 1;
  for_each_field(shape, [&](const ProtoField& dimension) {
    if (dimension.number != fields::tensor::kShapeDim) return;
    uint64_t size = 0;
    for_each_field(dimension.as_bytes(), [&](const ProtoField& field) {
      if (field.number == fields::tensor::kDimSize) size = field.as_varint();
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
    if (field.number == fields::tensor::kDType) dtype = field.as_varint();
    if (field.number == fields::tensor::kShape) elements = elements_of(field.as_bytes());
    if (field.number == fields::tensor::kContent) content = field.as_bytes();
    if (field.number == fields::tensor::kFloats) {
      number = packed ? first_of<float>(field.payload) : field.as_float32();
    }
    if (field.number == fields::tensor::kDoubles) {
      number = packed ? first_of<double>(field.payload) : field.as_float64();
    }
  });
  if (elements != 1) return std::nullopt;
  if (dtype == fields::tensor::kFloat && !content.empty()) number = first_of<float>(content);
  if (dtype == fields::tensor::kDouble && !content.empty()) number = first_of<double>(content);
  return dtype == fields::tensor::kFloat || dtype == fields::tensor::kDouble ? number
                                                                             : std::nullopt;
}

SummaryValue parse_value(Bytes message) {
  SummaryValue value;
  for_each_field(message, [&](const ProtoField& field) {
    if (field.number == fields::value::kTag) value.tag = field.as_text();
    if (field.number == fields::value::kSimpleValue) value.scalar = field.as_float32();
    if (field.number == fields::value::kTensor) value.scalar = number_of(field.as_bytes());
  });
  return value;
}

}  // namespace

Event parse_event(Bytes record) {
  Event event;
  for_each_field(record, [&](const ProtoField& field) {
    if (field.number == fields::event::kWallTime) event.wall_time_s = field.as_float64();
    if (field.number == fields::event::kStep) event.step = field.as_int64();
    if (field.number == fields::event::kFileVersion) event.file_version = field.as_text();
    if (field.number != fields::event::kSummary) return;
    for_each_field(field.as_bytes(), [&](const ProtoField& value) {
      if (value.number == fields::summary::kValue)
        event.values.push_back(parse_value(value.as_bytes()));
    });
  });
  return event;
}

namespace {

// Leaves out fields whose value is 0, as proto3 writers do.
ProtoWriter event_at(double wall_time_s, int64_t step) {
  ProtoWriter event;
  if (wall_time_s != 0) event.float64(fields::event::kWallTime, wall_time_s);
  if (step != 0) event.int64(fields::event::kStep, step);
  return event;
}

std::vector<std::byte> record(const ProtoWriter& event) {
  std::vector<std::byte> framed;
  append_tfrecord(framed, event.written());
  return framed;
}

// A record with one value that a plugin shows.
std::vector<std::byte> plugin_event(double wall_time_s, int64_t step, const std::string& tag,
                                    const ProtoWriter& metadata, const ProtoWriter& tensor) {
  ProtoWriter value, summary, event = event_at(wall_time_s, step);
  value.text(fields::value::kTag, tag);
  value.message(fields::value::kTensor, tensor);
  value.message(fields::value::kMetadata, metadata);
  summary.message(fields::summary::kValue, value);
  event.message(fields::event::kSummary, summary);
  return record(event);
}

ProtoWriter plugin_metadata(std::string_view plugin, const ProtoWriter& content) {
  ProtoWriter data, metadata;
  data.text(fields::metadata::kPluginName, plugin);
  if (!content.written().empty()) data.message(fields::metadata::kPluginContent, content);
  metadata.message(fields::metadata::kPluginData, data);
  return metadata;
}

ProtoWriter tensor_of(uint64_t dtype, std::initializer_list<size_t> sizes, Bytes content) {
  static_assert(std::endian::native == std::endian::little);  // of tensor_content
  ProtoWriter shape, tensor;
  for (const size_t size : sizes) {
    ProtoWriter dimension;
    dimension.varint(fields::tensor::kDimSize, size);
    shape.message(fields::tensor::kShapeDim, dimension);
  }
  tensor.varint(fields::tensor::kDType, dtype);
  tensor.message(fields::tensor::kShape, shape);
  tensor.bytes(fields::tensor::kContent, content);
  return tensor;
}

// What the plugin of HParams reads stands in the metadata; the tensor is empty.
std::vector<std::byte> session_event(double wall_time_s, const std::string& tag, uint32_t field,
                                     const ProtoWriter& info) {
  ProtoWriter content, tensor;
  content.message(field, info);
  tensor.varint(fields::tensor::kDType, fields::tensor::kFloat);
  tensor.message(fields::tensor::kShape, ProtoWriter());
  return plugin_event(wall_time_s, 0, tag, plugin_metadata("hparams", content), tensor);
}

ProtoWriter value_of(const HParam& hparam) {
  ProtoWriter value;
  if (const auto* number = std::get_if<double>(&hparam.second)) {
    value.float64(fields::hparams::kNumber, *number);
  } else if (const auto* flag = std::get_if<bool>(&hparam.second)) {
    value.varint(fields::hparams::kBool, *flag ? 1 : 0);
  } else {
    value.text(fields::hparams::kText, std::get<std::string>(hparam.second));
  }
  return value;
}

}  // namespace

std::vector<std::byte> event_file_header(double wall_time_s) {
  ProtoWriter event = event_at(wall_time_s, 0);
  event.text(fields::event::kFileVersion, "brain.Event:2");
  return record(event);
}

std::vector<std::byte> scalar_event(double wall_time_s, int64_t step,
                                    std::span<const Scalar> scalars) {
  ProtoWriter all, event = event_at(wall_time_s, step);
  for (const Scalar& scalar : scalars) {
    ProtoWriter one;
    one.text(fields::value::kTag, scalar.tag);
    one.float32(fields::value::kSimpleValue, scalar.value);
    all.message(fields::summary::kValue, one);
  }
  event.message(fields::event::kSummary, all);
  return record(event);
}

std::vector<std::byte> text_event(double wall_time_s, int64_t step, const std::string& tag,
                                  const std::string& text) {
  ProtoWriter tensor;
  tensor.varint(fields::tensor::kDType, fields::tensor::kText);
  tensor.message(fields::tensor::kShape, ProtoWriter());  // a scalar
  tensor.text(fields::tensor::kTexts, text);
  return plugin_event(wall_time_s, step, tag, plugin_metadata("text", ProtoWriter()), tensor);
}

std::vector<std::byte> hparams_event(double wall_time_s, std::span<const HParam> given) {
  ProtoWriter info;
  for (const HParam& hparam : given) {
    ProtoWriter entry;
    entry.text(fields::hparams::kEntryKey, hparam.first);
    entry.message(fields::hparams::kEntryValue, value_of(hparam));
    info.message(fields::hparams::kParameters, entry);
  }
  info.float64(fields::hparams::kStartTime, wall_time_s);
  return session_event(wall_time_s, "_hparams_/session_start_info", fields::hparams::kSessionStart,
                       info);
}

std::vector<std::byte> hparams_end_event(double wall_time_s) {
  ProtoWriter info;
  info.varint(fields::hparams::kStatus, fields::hparams::kSuccess);
  info.float64(fields::hparams::kEndTime, wall_time_s);
  return session_event(wall_time_s, "_hparams_/session_end_info", fields::hparams::kSessionEnd,
                       info);
}

std::vector<std::byte> histogram_event(double wall_time_s, int64_t step, const std::string& tag,
                                       std::span<const HistogramBucket> buckets) {
  static_assert(sizeof(HistogramBucket) == 3 * sizeof(double));
  const ProtoWriter tensor =
      tensor_of(fields::tensor::kDouble, {buckets.size(), 3}, std::as_bytes(buckets));
  ProtoWriter metadata = plugin_metadata("histograms", ProtoWriter());
  metadata.varint(fields::metadata::kDataClass, fields::metadata::kTensorClass);
  return plugin_event(wall_time_s, step, tag, metadata, tensor);
}

std::vector<std::byte> pr_curve_event(double wall_time_s, int64_t step, const std::string& tag,
                                      std::span<const float> values) {
  const size_t thresholds = values.size() / kPrCurveRows;
  const ProtoWriter tensor =
      tensor_of(fields::tensor::kFloat, {kPrCurveRows, thresholds}, std::as_bytes(values));
  ProtoWriter content;
  content.varint(kPrCurveThresholds, thresholds);
  ProtoWriter metadata = plugin_metadata("pr_curves", content);
  metadata.varint(fields::metadata::kDataClass, fields::metadata::kTensorClass);
  return plugin_event(wall_time_s, step, tag, metadata, tensor);
}

std::vector<std::byte> image_event(double wall_time_s, int64_t step, const std::string& tag,
                                   const ImageSummary& image) {
  ProtoWriter strings, shape, tensor;
  strings.varint(fields::tensor::kDimSize, 3);
  shape.message(fields::tensor::kShapeDim, strings);
  tensor.varint(fields::tensor::kDType, fields::tensor::kText);
  tensor.message(fields::tensor::kShape, shape);
  tensor.text(fields::tensor::kTexts, std::to_string(image.width));
  tensor.text(fields::tensor::kTexts, std::to_string(image.height));
  tensor.bytes(fields::tensor::kTexts, image.png);
  ProtoWriter metadata = plugin_metadata("images", ProtoWriter());
  metadata.text(fields::metadata::kDescription, image.description);
  metadata.varint(fields::metadata::kDataClass, fields::metadata::kBlobSequenceClass);
  return plugin_event(wall_time_s, step, tag, metadata, tensor);
}

void ValueHistogram::widen(std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least_ = std::min(least_, static_cast<double>(value));
    most_ = std::max(most_, static_cast<double>(value));
  }
}

void ValueHistogram::count(std::span<const float> values) {
  const double width = (most_ - least_) / static_cast<double>(counts_.size());
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double at = width > 0 ? (static_cast<double>(value) - least_) / width : 0;
    ++counts_[std::min(static_cast<size_t>(at), counts_.size() - 1)];
  }
}

std::vector<HistogramBucket> ValueHistogram::buckets() const {
  if (least_ > most_) return {};
  if (least_ == most_) return {{.left = least_ - 0.5, .right = most_ + 0.5, .count = counts_[0]}};
  std::vector<HistogramBucket> buckets(counts_.size());
  const double width = (most_ - least_) / static_cast<double>(counts_.size());
  for (size_t i = 0; i < buckets.size(); ++i) {
    buckets[i].left = least_ + width * static_cast<double>(i);
    buckets[i].right = least_ + width * static_cast<double>(i + 1);
    buckets[i].count = counts_[i];
  }
  buckets.back().right = most_;
  return buckets;
}

}  // namespace berth
