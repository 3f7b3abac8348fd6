#include "trainer/data/token_records.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"

namespace berth {
namespace {

using Numbers = std::vector<int64_t>;

Numbers padded(const std::vector<int32_t>& values, int32_t length, int64_t padding) {
  Numbers numbers(values.begin(), values.end());
  numbers.resize(static_cast<size_t>(length), padding);
  return numbers;
}

bool is_labelled(const Features& features) {
  return !features.classes.empty() || !features.targets.empty();
}

TfFeature label_ids(const Features& features, const TokenRecordOptions& options) {
  TfFeature label{.name = "label_ids", .values = {}};
  switch (traits(options.task).labels) {
    case LabelKind::kNumber:
      label.values = std::vector<float>{is_labelled(features) ? features.targets[0] : 0};
      break;
    case LabelKind::kSet: {
      Numbers marks(features.targets.begin(), features.targets.end());
      marks.resize(static_cast<size_t>(options.num_labels));
      label.values = std::move(marks);
      break;
    }
    case LabelKind::kTagPerWord:
      label.values = padded(features.classes, options.max_seq_length, -1);
      break;
    default:
      label.values = Numbers{is_labelled(features) ? features.classes[0] : 0};
  }
  return label;
}

// The fp64 number with the shortest text that reads back as this fp32 one: 3.8 and not
// 3.7999999523162842.
double shortest(float value) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof text, value).ptr;
  double number = value;
  std::from_chars(text, end, number);
  return number;
}

OrderedJson label_json(const Features& features, LabelKind kind,
                       const std::vector<std::string>& labels) {
  const auto name = [&labels](size_t label) { return labels.at(label); };
  if (kind == LabelKind::kNumber) return shortest(features.targets[0]);
  OrderedJson list = OrderedJson::array();
  if (kind == LabelKind::kSet) {
    for (size_t label = 0; label < features.targets.size(); ++label) {
      if (features.targets[label] != 0) list.push_back(name(label));
    }
    return list;
  }
  if (kind != LabelKind::kTagPerWord) return name(static_cast<size_t>(features.classes[0]));
  for (const int32_t tag : features.classes) {
    list.push_back(tag < 0 ? OrderedJson() : OrderedJson(name(static_cast<size_t>(tag))));
  }
  return list;
}

}  // namespace

std::vector<TfFeature> token_record(const Features& features, const TokenRecordOptions& options) {
  const int32_t length = options.max_seq_length;
  const std::vector<int32_t> ones(features.input_ids.size(), 1);
  std::vector<TfFeature> record = {
      {.name = "input_ids", .values = padded(features.input_ids, length, 0)},
      {.name = "input_mask", .values = padded(ones, length, 0)},
      {.name = "is_real_example", .values = Numbers{1}},
      label_ids(features, options),
      {.name = "segment_ids", .values = padded(features.token_type_ids, length, 0)}};
  if (options.with_weight) {
    record.push_back({.name = "weight", .values = std::vector<float>{features.weight}});
  }
  return record;
}

std::string token_line(const Features& features, const TokenRecordOptions& options,
                       const std::vector<std::string>& labels, const Tokenizer* tokenizer) {
  OrderedJson line = OrderedJson::object();
  if (tokenizer != nullptr) {
    OrderedJson tokens = OrderedJson::array();
    for (const int32_t id : features.input_ids) tokens.push_back(tokenizer->token(id));
    line["tokens"] = std::move(tokens);
  }
  line["input_ids"] = features.input_ids;
  line["segment_ids"] = features.token_type_ids;
  if (is_labelled(features))
    line["label"] = label_json(features, traits(options.task).labels, labels);
  if (options.with_weight) line["weight"] = shortest(features.weight);
  return to_text(line) + "\n";
}

}  // namespace berth
