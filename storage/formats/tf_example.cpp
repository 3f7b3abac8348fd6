#include "storage/formats/tf_example.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/tfrecord.h"

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

namespace {

// Like protobuf, the writers leave out an empty packed list.

ProtoWriter feature_of(std::monostate) { return {}; }

ProtoWriter feature_of(const std::vector<std::string>& texts) {
  ProtoWriter list, feature;
  for (const std::string& text : texts) list.text(kListValue, text);
  feature.message(kBytesList, list);
  return feature;
}

ProtoWriter feature_of(const std::vector<float>& numbers) {
  ProtoWriter list, feature;
  if (!numbers.empty()) list.bytes(kListValue, std::as_bytes(std::span(numbers)));
  feature.message(kFloatList, list);
  return feature;
}

ProtoWriter feature_of(const std::vector<int64_t>& numbers) {
  std::vector<std::byte> packed;
  for (const int64_t number : numbers) {
    auto rest = static_cast<uint64_t>(number);
    for (; rest >= 0x80; rest >>= 7) packed.push_back(static_cast<std::byte>(rest | 0x80));
    packed.push_back(static_cast<std::byte>(rest));
  }
  ProtoWriter list, feature;
  if (!packed.empty()) list.bytes(kListValue, packed);
  feature.message(kInt64List, list);
  return feature;
}

}  // namespace

std::vector<std::byte> serialize_tf_example(std::span<const TfFeature> features) {
  ProtoWriter map, example;
  for (const TfFeature& each : features) {
    ProtoWriter entry;
    entry.text(kEntryName, each.name);
    entry.message(kEntryFeature,
                  std::visit([](const auto& values) { return feature_of(values); }, each.values));
    map.message(kFeaturesEntry, entry);
  }
  example.message(kExampleFeatures, map);
  return example.take();
}

namespace {

// The feature names that TensorFlow Datasets uses for SQuAD's answers.
constexpr std::string_view kAnswerTexts = "answers/text", kAnswerStarts = "answers/answer_start";

std::string valid_text(const std::string& bytes, const std::string& feature) {
  if (const auto bad = find_invalid_utf8(bytes)) {
    throw Error(Code::kBadData,
                cat("feature ", quoted(feature), ": byte ", *bad + 1, " is not UTF-8"));
  }
  return bytes;
}

class TfExampleRows final : public RowReader {
 public:
  TfExampleRows(std::unique_ptr<ByteSource> source, ClassNames names)
      : records_(std::move(source)), names_(std::move(names)) {
    has_first_ = read(first_);
    const bool has_answers = values_of(first_, kAnswerTexts) && values_of(first_, kAnswerStarts);
    if (has_answers) {
      answers_ = columns_.size();
      columns_.push_back({.name = "answers", .categories = {}});
    }
    for (const TfFeature& feature : first_) {
      if (has_answers && (feature.name == kAnswerTexts || feature.name == kAnswerStarts)) continue;
      columns_.push_back({.name = feature.name, .categories = {}});
      const auto found = names_.find(feature.name);
      if (found == names_.end()) continue;
      columns_.back().categories = found->second;
      columns_.back().declares_classes = true;
    }
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("record at byte ", records_.offset()); }

  bool next(Row& row) override {
    std::vector<TfFeature> features = std::move(first_);
    if (!std::exchange(has_first_, false) && !read(features)) return false;
    row.assign(columns_.size(), {});
    try {
      if (answers_) row[*answers_] = answers(features);
      for (const TfFeature& feature : features) {
        for (size_t i = 0; i < columns_.size(); ++i) {
          if (columns_[i].name == feature.name) row[i] = cell(feature);
        }
      }
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

 private:
  static const TfFeature* values_of(const std::vector<TfFeature>& features, std::string_view name) {
    const auto found = std::find_if(features.begin(), features.end(),
                                    [name](const TfFeature& each) { return each.name == name; });
    return found == features.end() ? nullptr : &*found;
  }

  // Converts the answers to the form that they have in Hugging Face's rows.
  static Cell answers(const std::vector<TfFeature>& features) {
    Json object = {{"text", Json::array()}, {"answer_start", Json::array()}};
    const TfFeature* texts = values_of(features, kAnswerTexts);
    const TfFeature* starts = values_of(features, kAnswerStarts);
    if (texts != nullptr) {
      if (const auto* values = std::get_if<std::vector<std::string>>(&texts->values)) {
        for (const std::string& text : *values) {
          object["text"].push_back(valid_text(text, texts->name));
        }
      }
    }
    if (starts != nullptr) {
      if (const auto* values = std::get_if<std::vector<int64_t>>(&starts->values)) {
        for (const int64_t start : *values) object["answer_start"].push_back(start);
      }
    }
    return to_text(object);
  }

  bool read(std::vector<TfFeature>& features) {
    std::vector<std::byte> record;
    if (!records_.next(record)) return false;
    try {
      features = parse_tf_example(record);
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

  Cell cell(const TfFeature& feature) const {
    if (const auto* texts = std::get_if<std::vector<std::string>>(&feature.values)) {
      return one_or_list(*texts,
                         [&](const std::string& text) { return valid_text(text, feature.name); });
    }
    if (const auto* reals = std::get_if<std::vector<float>>(&feature.values)) {
      return one_or_list(*reals, [](float real) { return static_cast<double>(real); });
    }
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&feature.values)) {
      const auto names = names_.find(feature.name);
      if (names == names_.end())
        return one_or_list(*numbers, [](int64_t number) { return number; });
      return one_or_list(*numbers, [&](int64_t number) { return class_name(*names, number); });
    }
    return {};
  }

  template <typename Values, typename Convert>
  static Cell one_or_list(const Values& values, const Convert& convert) {
    if (values.empty()) return {};
    if (values.size() == 1) return convert(values[0]);
    Json list = Json::array();
    for (const auto& value : values) list.push_back(convert(value));
    return to_text(list);
  }

  // TensorFlow Datasets writes -1 if a split has no labels.
  static std::string class_name(const ClassNames::value_type& names, int64_t number) {
    if (number == -1) return "";
    if (number >= 0 && static_cast<size_t>(number) < names.second.size()) {
      return names.second[static_cast<size_t>(number)];
    }
    throw Error(Code::kBadData,
                cat("feature ", quoted(names.first), ": ", number, " is not the number of one of ",
                    names.second.size(), " classes"));
  }

  TfRecordReader records_;
  const ClassNames names_;
  std::vector<Column> columns_;
  std::optional<size_t> answers_;  // index of the column "answers"
  std::vector<TfFeature> first_;
  bool has_first_ = false;
};

}  // namespace

std::unique_ptr<RowReader> make_tf_example_rows(std::unique_ptr<ByteSource> source,
                                                ClassNames names) {
  return std::make_unique<TfExampleRows>(std::move(source), std::move(names));
}

}  // namespace berth
