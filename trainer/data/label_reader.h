#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/data/example.h"
#include "trainer/data/find_columns.h"
#include "trainer/data/label_dictionary.h"
#include "trainer/data/label_form.h"

namespace berth {

// The text of a cell that holds a list of words, joined by blanks, where the column has a usual
// name for words: tokens, words. nullopt: the cell is a text itself. Throws kBadData, naming the
// column, where the cell is another list or an object of the file.
std::optional<std::string> joined_words(const Column& column, std::string_view cell,
                                        bool are_texts);

// Throws kBadData: the column should hold `what`, and `cell` is the JSON text of a list or object.
[[noreturn]] void refuse_nested(const std::string& column, std::string_view cell, const char* what);

// Reads the labels of a table's rows as classes, or as sets of them. Not thread-safe.
class LabelReader {
 public:
  // `rows` tells the columns. `found` has labels if the table has some.
  LabelReader(const RowReader& rows, const FoundColumns& found, const LabelForm& form)
      : rows_(rows), found_(found), form_(form), are_texts_(rows.is_of_texts()) {}

  // Enters the labels whose names the columns say. Called before the first row.
  void begin(LabelDictionary& labels);

  // Each appends to the labels of `example` and throws kBadData where the cells hold something
  // else.
  // Returns false where the row is meant to have no class.
  bool read_class(const Row& row, LabelDictionary& labels, Example& example);
  void read_set(const Row& row, LabelDictionary& labels, Example& example);

  // Throws kBadData: the cell of a label column is missing.
  [[noreturn]] void refuse_missing(const Row& row, size_t column, bool are_classes = true) const;

  std::vector<Finding> findings() const;

 private:
  const std::string& name(size_t column) const { return rows_.columns()[column].name; }
  bool has_label_columns() const { return found_.labels.size() > 1; }
  bool is_missing_label(const Cell& cell, const LabelDictionary& labels) const;
  void name_positions(LabelDictionary& labels);
  std::vector<std::string> label_set(const Row& row, const LabelDictionary& labels);
  std::vector<std::string> split_labels(const std::string& whole, const LabelDictionary& labels);
  std::vector<std::string> marked_columns(const Row& row) const;
  void read_marks(const Row& row, Example& example) const;
  std::optional<int32_t> class_in_list(const std::string& text, LabelDictionary& labels) const;

  const RowReader& rows_;
  const FoundColumns found_;
  const LabelForm form_;
  const bool are_texts_;
  std::vector<int32_t> positions_{};  // the entries of the labels of multi-hot lists
  char separator_ = '\0';             // the first one that was met, where the form names none
  size_t empty_sets_ = 0;             // sets without a text
  size_t blank_sets_ = 0;             // sets that are empty because a text means a missing value
  size_t left_out_ = 0;
};

// Throws kBadData: the text is not a list of labels, or tags.
[[noreturn]] void refuse_list(const std::string& column, const std::string& text);

}  // namespace berth
