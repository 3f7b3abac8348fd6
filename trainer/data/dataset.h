#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/data/text_table.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// Some rows of a table, each tokenized once, when it is first asked for. Borrows the table and the
// tokenizer. Used by one thread at a time.
class Dataset {
 public:
  // `labels` has one class for every row of the table, or is empty: unlabelled.
  Dataset(const TextTable& table, std::vector<uint32_t> rows, std::span<const int32_t> labels,
          const Tokenizer& tokenizer, int32_t max_seq_length);

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  bool labelled() const { return !labels_.empty(); }
  int32_t label(int64_t index) const { return labels_[static_cast<size_t>(index)]; }
  uint32_t row(int64_t index) const { return rows_[static_cast<size_t>(index)]; }
  int32_t max_seq_length() const { return max_seq_length_; }

  // Valid as long as this.
  const Encoding& encoding(int64_t index);

 private:
  const TextTable& table_;
  std::vector<uint32_t> rows_;
  std::vector<int32_t> labels_;  // of rows_
  const Tokenizer& tokenizer_;
  int32_t max_seq_length_;
  std::vector<Encoding> encodings_;  // empty until first used
};

}  // namespace berth
