#include "trainer/data/prepared_tokens.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/example_table.h"

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

namespace {

// The places (0) or the ids (1) of masked tokens.
std::vector<int32_t> masked_part(const Features& features, size_t part) {
  std::vector<int32_t> values;
  for (size_t i = part; i < features.masked.size(); i += 2) values.push_back(features.masked[i]);
  return values;
}

}  // namespace

std::vector<TfFeature> pair_record(const Features& features, const TokenRecordOptions& options) {
  const int32_t length = options.max_seq_length, most = options.most_masked;
  const std::vector<int32_t> ones(features.input_ids.size(), 1);
  const std::vector<int32_t> places = masked_part(features, 0), ids = masked_part(features, 1);
  std::vector<float> weights(places.size(), 1);
  weights.resize(static_cast<size_t>(most), 0);
  return {{.name = "input_ids", .values = padded(features.input_ids, length, 0)},
          {.name = "input_mask", .values = padded(ones, length, 0)},
          {.name = "masked_lm_ids", .values = padded(ids, most, 0)},
          {.name = "masked_lm_positions", .values = padded(places, most, 0)},
          {.name = "masked_lm_weights", .values = std::move(weights)},
          {.name = "next_sentence_labels", .values = Numbers{features.classes.at(0)}},
          {.name = "segment_ids", .values = padded(features.token_type_ids, length, 0)}};
}

std::string pair_line(const Features& features, const Tokenizer& tokenizer) {
  OrderedJson line = OrderedJson::object();
  OrderedJson tokens = OrderedJson::array();
  for (const int32_t id : features.input_ids) tokens.push_back(tokenizer.token(id));
  line["tokens"] = std::move(tokens);
  line["input_ids"] = features.input_ids;
  line["segment_ids"] = features.token_type_ids;
  line["masked_lm_positions"] = masked_part(features, 0);
  line["masked_lm_ids"] = masked_part(features, 1);
  line["next_sentence_label"] = features.classes.at(0);
  return to_text(line) + "\n";
}

namespace {

constexpr const char* kNameAll =
    "name all shards of one preparation, such as 'folder/train-*.tokens'";

[[noreturn]] void refuse(const std::string& name, const std::string& what,
                         const std::string& hint = kNameAll) {
  throw Error(Code::kBadData, what, name, hint);
}

}  // namespace

void ShardSetCheck::add(const std::string& name, const TokenShard& shard) {
  const TokenShardInfo& info = shard.info();
  if (shards_ == 0) {
    first_ = info;
    first_name_ = name;
  }
  TokenShardInfo expected = first_;
  expected.index = info.index;
  if (info != expected) refuse(name, "belongs to another preparation than " + first_name_);
  if (info.index != shards_) {
    refuse(name, cat("is shard ", info.index + 1, " of ", info.count, ", where shard ", shards_ + 1,
                     " is expected"));
  }
  last_name_ = name;
  ++shards_;
  sequences_ += shard.sequences();
}

void ShardSetCheck::finish(std::optional<uint32_t> tokenizer_checksum) const {
  if (shards_ < first_.count) {
    refuse(last_name_, cat("is shard ", shards_, " of ", first_.count, ", and shard ", shards_ + 1,
                           " is missing"));
  }
  if (sequences_ != first_.total_sequences) {
    refuse(last_name_, cat("ends a set of ", sequences_, " sequences, but there should be ",
                           first_.total_sequences));
  }
  if (sequences_ > ExampleTable::kMostRows) {
    refuse(last_name_, cat("ends a set of more than ", ExampleTable::kMostRows, " sequences"),
           "prepare the corpus in parts");
  }
  if (!tokenizer_checksum || *tokenizer_checksum == first_.tokenizer_checksum) return;
  refuse(first_name_, "was made with another tokenizer than the model has",
         "prepare the corpus again with --model or --vocab-file of this model");
}

TokenShardSet::TokenShardSet(std::vector<TokenShardFile> files,
                             std::optional<uint32_t> tokenizer_checksum)
    : files_(std::move(files)) {
  ShardSetCheck check;
  for (const TokenShardFile& file : files_) {
    try {
      shards_.emplace_back(file.bytes());
    } catch (const Error& error) {
      throw error.at(file.name);
    }
    check.add(file.name, shards_.back());
    firsts_.push_back(firsts_.back() + shards_.back().sequences());
    size_bytes_ += file.bytes().size();
  }
  check.finish(tokenizer_checksum);
}

TokenShardSet::Place TokenShardSet::place_of(uint32_t row) const {
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), size_t{row});
  const auto shard = static_cast<size_t>(after - firsts_.begin()) - 1;
  return {shards_[shard], static_cast<uint32_t>(row - firsts_[shard])};
}

Example TokenShardSet::read(uint32_t row) const {
  const Place place = place_of(row);
  Example example;
  place.shard.read(place.sequence, example.token_ids);
  example.token_types.resize(example.token_ids.size());
  return example;
}

Bytes TokenShardSet::bytes(uint32_t row) const {
  const Place place = place_of(row);
  return place.shard.bytes(place.sequence);
}

}  // namespace berth
