#include "storage/formats/plugin_events.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>

#include "storage/base/protobuf_wire.h"
#include "storage/formats/event_fields.h"
#include "storage/formats/tfrecord.h"

namespace berth {
namespace {

namespace fields = event_fields;

// The messages of plugins/hparams/plugin_data.proto, and google.protobuf.Value.
namespace hparams {
constexpr uint32_t kSessionStart = 3, kSessionEnd = 4;
constexpr uint32_t kParameters = 1, kStartTime = 5;    // of SessionStartInfo
constexpr uint32_t kEntryKey = 1, kEntryValue = 2;     // of its map
constexpr uint32_t kNumber = 2, kText = 3, kBool = 4;  // of Value
constexpr uint32_t kStatus = 1, kEndTime = 2;          // of SessionEndInfo
constexpr uint64_t kSuccess = 1;
}  // namespace hparams

constexpr size_t kPrCurveRows = 6;
constexpr uint32_t kPrCurveThresholds = 2;  // of PrCurvePluginData, plugins/pr_curve

// A record with one value that a plugin shows.
std::vector<std::byte> plugin_event(double wall_time_s, int64_t step, const std::string& tag,
                                    const ProtoWriter& metadata, const ProtoWriter& tensor) {
  ProtoWriter value, summary, event;
  value.text(fields::value::kTag, tag);
  value.message(fields::value::kTensor, tensor);
  value.message(fields::value::kMetadata, metadata);
  summary.message(fields::summary::kValue, value);
  event.float64(fields::event::kWallTime, wall_time_s);
  if (step != 0) event.int64(fields::event::kStep, step);
  event.message(fields::event::kSummary, summary);
  std::vector<std::byte> framed;
  append_tfrecord(framed, event.written());
  return framed;
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
  tensor.varint(fields::tensor::kDType, fields::tensor::kDTypeFloat);
  tensor.message(fields::tensor::kShape, ProtoWriter());
  return plugin_event(wall_time_s, 0, tag, plugin_metadata("hparams", content), tensor);
}

ProtoWriter value_of(const HParam& hparam) {
  ProtoWriter value;
  if (const auto* number = std::get_if<double>(&hparam.second)) {
    value.float64(hparams::kNumber, *number);
  } else if (const auto* flag = std::get_if<bool>(&hparam.second)) {
    value.varint(hparams::kBool, *flag ? 1 : 0);
  } else {
    value.text(hparams::kText, std::get<std::string>(hparam.second));
  }
  return value;
}

}  // namespace

std::vector<std::byte> hparams_event(double wall_time_s, std::span<const HParam> given) {
  ProtoWriter info;
  for (const HParam& hparam : given) {
    ProtoWriter entry;
    entry.text(hparams::kEntryKey, hparam.first);
    entry.message(hparams::kEntryValue, value_of(hparam));
    info.message(hparams::kParameters, entry);
  }
  info.float64(hparams::kStartTime, wall_time_s);
  return session_event(wall_time_s, "_hparams_/session_start_info", hparams::kSessionStart, info);
}

std::vector<std::byte> hparams_end_event(double wall_time_s) {
  ProtoWriter info;
  info.varint(hparams::kStatus, hparams::kSuccess);
  info.float64(hparams::kEndTime, wall_time_s);
  return session_event(wall_time_s, "_hparams_/session_end_info", hparams::kSessionEnd, info);
}

std::vector<std::byte> histogram_event(double wall_time_s, int64_t step, const std::string& tag,
                                       std::span<const HistogramBucket> buckets) {
  static_assert(sizeof(HistogramBucket) == 3 * sizeof(double));
  const ProtoWriter tensor =
      tensor_of(fields::tensor::kDTypeDouble, {buckets.size(), 3}, std::as_bytes(buckets));
  ProtoWriter metadata = plugin_metadata("histograms", ProtoWriter());
  metadata.varint(fields::metadata::kDataClass, fields::metadata::kTensorClass);
  return plugin_event(wall_time_s, step, tag, metadata, tensor);
}

std::vector<std::byte> pr_curve_event(double wall_time_s, int64_t step, const std::string& tag,
                                      std::span<const float> values) {
  const size_t thresholds = values.size() / kPrCurveRows;
  const ProtoWriter tensor =
      tensor_of(fields::tensor::kDTypeFloat, {kPrCurveRows, thresholds}, std::as_bytes(values));
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
  tensor.varint(fields::tensor::kDType, fields::tensor::kDTypeString);
  tensor.message(fields::tensor::kShape, shape);
  tensor.text(fields::tensor::kStringVal, std::to_string(image.width));
  tensor.text(fields::tensor::kStringVal, std::to_string(image.height));
  tensor.bytes(fields::tensor::kStringVal, image.png);
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
