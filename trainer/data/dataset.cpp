#include "trainer/data/dataset.h"

#include <optional>

#include "trainer/data/token_rows.h"

namespace berth {

Dataset::Dataset(const TextTable& table, std::vector<uint32_t> rows,
                 std::span<const int32_t> labels, const Tokenizer& tokenizer,
                 int32_t max_seq_length)
    : table_(table),
      rows_(std::move(rows)),
      tokenizer_(tokenizer),
      max_seq_length_(max_seq_length),
      encodings_(rows_.size()) {
  if (labels.empty()) return;
  labels_.reserve(rows_.size());
  for (const uint32_t row : rows_) labels_.push_back(labels[row]);
}

const Encoding& Dataset::encoding(int64_t index) {
  Encoding& encoding = encodings_[static_cast<size_t>(index)];
  if (encoding.input_ids.empty()) {  // never so once tokenized: special tokens are always there
    const uint32_t row = rows_[static_cast<size_t>(index)];
    if (table_.holds_token_ids) {
      encoding = parse_token_row(table_.texts[row], max_seq_length_);
      return encoding;
    }
    std::optional<std::string_view> pair;
    if (!table_.pairs.empty()) pair = table_.pairs[row];
    encoding = tokenizer_.encode(table_.texts[row], pair, max_seq_length_);
  }
  return encoding;
}

}  // namespace berth
