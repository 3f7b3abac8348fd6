#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "storage/formats/row_reader.h"

namespace berth {

// Collects what a column of a table holds, cell by cell.
class ColumnSummary {
 public:
  void add(const Cell& cell);
  void add_array(size_t size);  // a feature of a TFRecord with `size` elements

  // "texts, 12 to 1012 characters, median 230" or "integers, 4 values: 0 (2500), 1 (2500), ...",
  // followed by the number of missing cells. A column without any value is "nothing".
  std::string text() const;

 private:
  std::string kind() const;
  std::string spread() const;
  std::string counts() const;

  static constexpr size_t kMostValues = 64;  // a column with more is not counted by value

  uint64_t cells_ = 0, missing_ = 0, texts_ = 0, integers_ = 0, reals_ = 0, bools_ = 0;
  uint64_t arrays_ = 0;
  std::map<uint64_t, uint64_t> sizes_;      // characters of a text or elements of an array -> count
  std::map<std::string, uint64_t> values_;  // value -> count; empty where there are too many
  bool has_many_values_ = false;
};

// 10000 -> "10,000".
std::string grouped(uint64_t number);

// A cell on one line, cut at `limit` characters. A missing cell is "-".
std::string cell_text(const Cell& cell, size_t limit);

// The first `limit` characters of `text`, which is valid UTF-8, and "..." where there are more.
std::string cut_text(std::string_view text, size_t limit);

}  // namespace berth
