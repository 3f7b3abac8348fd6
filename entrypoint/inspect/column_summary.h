#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// What a column holds, cell by cell.
class ColumnSummary {
 public:
  void add(const Cell& cell);
  void add_array(size_t size);  // of a TFRecord's feature

  // "texts, 12 to 1012 characters, median 230" or "integers, 4 values: 0 (2500), 1 (2500), ...",
  // then what is missing. Empty columns say so.
  std::string text() const;

 private:
  std::string kind() const;
  std::string spread() const;
  std::string counts() const;

  static constexpr size_t kMostValues = 64;  // more are not counted one by one

  uint64_t cells_ = 0, missing_ = 0, texts_ = 0, integers_ = 0, reals_ = 0, bools_ = 0;
  uint64_t arrays_ = 0;
  std::map<uint64_t, uint64_t> sizes_;      // of texts in characters, of arrays in elements
  std::map<std::string, uint64_t> values_;  // how often; gone when there are too many
  bool has_many_values_ = false;
};

// 10000 -> "10,000".
std::string grouped(uint64_t number);

// A cell as one line shows it, cut at `limit` characters.
std::string cell_text(const Cell& cell, size_t limit);

// The first `limit` characters of valid UTF-8, with "..." where there are more.
std::string cut_text(std::string_view text, size_t limit);

}  // namespace berth
