#include "storage/formats/tf_example.h"

#include <cstring>
#include <map>

#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Field numbers of example.proto and feature.proto.
constexpr uint32_t kExampleFeatures = 1;
constexpr uint32_t kFeaturesEntry = 1;
constexpr uint32_t kEntryName = 1, kEntryFeature = 2;
constexpr uint32_t kBytesList = 1, kFloatList = 2, kInt64List = 3;
constexpr uint32_t kListValue = 1;

using Values = decltype(TfFeature::values);

std::vector<std::string> parse_bytes_list(Bytes list) {
  std::vector<std::string> values;
  for_each_field(list, [&](const ProtoField& field) {
    if (field.number == kListValue) values.emplace_back(field.as_text());
  });
  return values;
}

std::vector<float> parse_float_list(Bytes list) {
  std::vector<float> values;
  for_each_field(list, [&](const ProtoField& field) {
    if (field.number != kListValue) return;
    if (field.type != WireType::kLengthDelimited) return values.push_back(field.as_float32());
    if (field.payload.size() % sizeof(float) != 0) {
      throw Error(Code::kCorrupt, cat("a list of floats of ", field.payload.size(), " bytes"));
    }
    const size_t before = values.size();
    values.resize(before + field.payload.size() / sizeof(float));
    if (!field.payload.empty()) {
      std::memcpy(values.data() + before, field.payload.data(), field.payload.size());
    }
  });
  return values;
}

std::vector<int64_t> parse_int64_list(Bytes list) {
  std::vector<int64_t> values;
  for_each_field(list, [&](const ProtoField& field) {
    if (field.number != kListValue) return;
    if (field.type != WireType::kLengthDelimited) return values.push_back(field.as_int64());
    for (const uint64_t value : packed_varints(field.payload)) {
      values.push_back(static_cast<int64_t>(value));
    }
  });
  return values;
}

Values parse_feature(Bytes feature) {
  Values values;
  for_each_field(feature, [&](const ProtoField& field) {
    if (field.number == kBytesList) values = parse_bytes_list(field.as_bytes());
    if (field.number == kFloatList) values = parse_float_list(field.as_bytes());
    if (field.number == kInt64List) values = parse_int64_list(field.as_bytes());
  });
  return values;
}

void parse_entry(Bytes entry, std::map<std::string, Values>& features) {
  std::string name;
  Bytes feature;
  for_each_field(entry, [&](const ProtoField& field) {
    if (field.number == kEntryName) name = field.as_text();
    if (field.number == kEntryFeature) feature = field.as_bytes();
  });
  try {
    features[name] = parse_feature(feature);
  } catch (const Error& error) {
    throw error.at("feature " + quoted(name));
  }
}

}  // namespace

std::vector<TfFeature> parse_tf_example(Bytes record) {
  std::map<std::string, Values> features;
  for_each_field(record, [&](const ProtoField& example) {
    if (example.number != kExampleFeatures) return;
    for_each_field(example.as_bytes(), [&](const ProtoField& entry) {
      if (entry.number == kFeaturesEntry) parse_entry(entry.as_bytes(), features);
    });
  });
  std::vector<TfFeature> sorted;
  for (auto& [name, values] : features) sorted.push_back({name, std::move(values)});
  return sorted;
}

}  // namespace berth
