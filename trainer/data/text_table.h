#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

struct FoundColumns;  // of find_columns.h

// Column names as given; empty: found by name among those the field uses (text, sentence, content,
// ...; label, target, class, ...; pairs as sentence1 with sentence2).
struct ColumnChoice {
  std::string text{}, text_pair{}, label{};
};

enum class LabelNeed { kRequired, kIfPresent };

// The texts and labels of a table, in memory, in file order.
struct TextTable {
  std::vector<std::string> texts;
  std::vector<std::string> pairs;   // one a row, or empty: no second text
  std::vector<std::string> labels;  // one a row, as text (integers in decimal), or empty: no labels

  // The labels that occur: integers by value, categories in their order, else sorted.
  std::vector<std::string> label_names;
  ColumnChoice columns;          // the ones that were read
  bool holds_token_ids = false;  // texts are rows of token_rows.h

  size_t rows() const { return texts.size(); }
};

// A table that may come in parts, the rows of each after those of the one before.
class TextTableReader {
 public:
  TextTableReader(const ColumnChoice& choice, LabelNeed need) : choice_(choice), need_(need) {}

  // Reads all rows of a part. Throws kBadData as read_text_table() does, and where a later part
  // lacks a column that the first had, or has a pair or a label that the first lacked.
  void append(RowReader& reader);

  // Throws kBadData when no part had a row or the labels of all are no classes. At most once.
  TextTable finish();

 private:
  FoundColumns find(std::span<const Column> columns);

  const ColumnChoice choice_;
  const LabelNeed need_;
  bool has_part_ = false;
  TextTable table_;
  std::vector<std::string> categories_;  // of all parts, in the order in which they come
};

// Reads all rows. Throws kBadData: a column that is not there (naming those that are), a missing
// text or label (naming the row), a fractional label, no rows. Errors do not name the file: add it
// with at().
TextTable read_text_table(RowReader& reader, const ColumnChoice& choice, LabelNeed need);

// Each row's index into `names`. Throws kBadData, naming labels that are not among them.
std::vector<int32_t> label_ids(const TextTable& table, const std::vector<std::string>& names);

}  // namespace berth
