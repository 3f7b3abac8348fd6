#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

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
  ColumnChoice columns;  // the ones that were read

  size_t rows() const { return texts.size(); }
};

// Reads all rows. Throws kBadData: a column that is not there (naming those that are), a missing
// text or label (naming the row), a fractional label, no rows. Errors do not name the file: add it
// with at().
TextTable read_text_table(RowReader& reader, const ColumnChoice& choice, LabelNeed need);

// Each row's index into `names`. Throws kBadData, naming labels that are not among them.
std::vector<int32_t> label_ids(const TextTable& table, const std::vector<std::string>& names);

}  // namespace berth
