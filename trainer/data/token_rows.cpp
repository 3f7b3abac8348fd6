#include "trainer/data/token_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"

namespace berth {
namespace {

using Numbers = std::vector<int64_t>;

// The first of these features that is there.
const TfFeature* find(const std::vector<TfFeature>& features,
                      std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = std::find_if(features.begin(), features.end(),
                                    [name](const TfFeature& each) { return each.name == name; });
    if (found != features.end()) return &*found;
  }
  return nullptr;
}

// Its integers; empty where it is absent.
Numbers integers(const TfFeature* feature) {
  if (feature == nullptr) return {};
  if (const auto* numbers = std::get_if<Numbers>(&feature->values)) return *numbers;
  throw Error(Code::kBadData, cat("feature ", quoted(feature->name), " holds no integers"));
}

std::string joined(const Numbers& numbers, const Numbers& mask) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (mask[i] == 0) continue;
    if (numbers[i] < 0 || numbers[i] > std::numeric_limits<int32_t>::max()) {
      throw Error(Code::kBadData, cat(numbers[i], " is no id"));
    }
    text += cat(text.empty() ? "" : " ", numbers[i]);
  }
  return text;
}

std::string token_text(const std::vector<TfFeature>& features) {
  const Numbers ids = integers(find(features, {"input_ids", "input_word_ids"}));
  Numbers mask = integers(find(features, {"input_mask"}));
  Numbers types = integers(find(features, {"segment_ids", "input_type_ids"}));
  if (mask.empty()) mask.assign(ids.size(), 1);
  if (types.empty()) types.assign(ids.size(), 0);
  if (mask.size() != ids.size() || types.size() != ids.size()) {
    throw Error(Code::kBadData, cat(ids.size(), " input_ids beside ", mask.size(),
                                    " of the mask and ", types.size(), " token types"));
  }
  const std::string text = joined(ids, mask);
  if (text.empty()) {
    throw Error(Code::kBadData, "no input_ids", "",
                "TFRecords as run_classifier.py writes them are read");
  }
  return cat(text, "|", joined(types, mask));
}

Cell label_cell(const TfFeature* feature) {
  if (feature == nullptr || std::holds_alternative<std::monostate>(feature->values)) return {};
  if (std::holds_alternative<std::vector<float>>(feature->values)) {
    throw Error(Code::kBadData, cat("feature ", quoted(feature->name), " is a regression's"), "",
                "this version trains classifiers");
  }
  const Numbers labels = integers(feature);
  if (labels.size() != 1) {
    throw Error(Code::kBadData, cat("feature ", quoted(feature->name), " holds ", labels.size(),
                                    " labels for one text"));
  }
  return labels[0];
}

class TokenRowReader final : public RowReader {
 public:
  explicit TokenRowReader(std::unique_ptr<ByteSource> source) : records_(std::move(source)) {
    columns_ = {{.name = "text", .categories = {}}};
    has_first_ = read(first_);
    if (has_first_ && label_of(first_) != nullptr) {
      columns_.push_back({.name = "label", .categories = {}});
    }
  }

  std::span<const Column> columns() const override { return columns_; }

  bool next(Row& row) override {
    std::vector<TfFeature> features = std::move(first_);
    if (!std::exchange(has_first_, false) && !read(features)) return false;
    try {
      row = {token_text(features)};
      if (columns_.size() > 1) row.push_back(label_cell(label_of(features)));
    } catch (const Error& error) {
      throw error.at(position());
    }
    return true;
  }

  std::string position() const override { return cat("record at byte ", records_.offset()); }

 private:
  static const TfFeature* label_of(const std::vector<TfFeature>& features) {
    return find(features, {"label_ids", "label_id", "label"});
  }

  // The next real example.
  bool read(std::vector<TfFeature>& features) {
    for (std::vector<std::byte> record; records_.next(record);) {
      try {
        features = parse_tf_example(record);
        const Numbers real = integers(find(features, {"is_real_example"}));
        if (real.empty() || real[0] != 0) return true;
      } catch (const Error& error) {
        throw error.at(position());
      }
    }
    return false;
  }

  TfRecordReader records_;
  std::vector<Column> columns_;
  std::vector<TfFeature> first_;
  bool has_first_ = false;
};

std::vector<int32_t> parse_numbers(std::string_view text) {
  std::vector<int32_t> numbers;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::optional<uint64_t> number = parse_number(text.substr(0, end));
    if (!number || *number > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
      throw Error(Code::kBadData, cat(quoted(text.substr(0, end)), " is no id"));
    }
    numbers.push_back(static_cast<int32_t>(*number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbers;
}

}  // namespace

std::unique_ptr<RowReader> make_token_row_reader(std::unique_ptr<ByteSource> source) {
  return std::make_unique<TokenRowReader>(std::move(source));
}

Encoding parse_token_row(std::string_view text, int32_t max_length) {
  const size_t bar = text.find('|');
  if (bar == std::string_view::npos) {
    throw Error(Code::kBadData, cat(quoted(text), " is no row of token ids"));
  }
  Encoding encoding{.input_ids = parse_numbers(text.substr(0, bar)),
                    .token_type_ids = parse_numbers(text.substr(bar + 1)),
                    .offsets = {}};
  if (encoding.input_ids.size() != encoding.token_type_ids.size()) {
    throw Error(Code::kBadData, cat(quoted(text), " is no row of token ids"));
  }
  if (encoding.input_ids.size() > static_cast<size_t>(max_length)) {
    throw Error(Code::kUsage,
                cat("a row of ", encoding.input_ids.size(), " tokens, where --max-seq-length is ",
                    max_length),
                "", "pass the length that the records were made with");
  }
  return encoding;
}

}  // namespace berth
