#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"
#include "storage/formats/row_reader.h"
#include "trainer/data/cell_text.h"
#include "trainer/model/task.h"

namespace berth {

enum class LabelLists : uint8_t {
  kAuto,      // what the first rows show
  kNames,     // a list holds the names of labels
  kMultiHot,  // a list holds a 0 or 1 for each label
};

// How the cells of label columns are written. A user gives `lists` and `separators`, and
// find_label_form() completes them from the rows to train on. All other rows are read in this form.
struct LabelForm {
  LabelLists lists = LabelLists::kAuto;
  // What separates the labels of a set in one text. Empty: '|' or ',', whichever comes first.
  std::string separators{};
  size_t positions = 0;  // the length of multi-hot lists; 0: lists hold names
  NumberForm numbers{};
  bool blank_is_zero = false;         // of columns of marks: a missing mark is 0
  bool minus_one_is_missing = false;  // of pairs: -1 says that annotators did not agree
  bool dash_is_missing = false;       // the same of "-"
  bool is_settled = false;
  bool operator==(const LabelForm&) const = default;
};

// Whether the labels of a task may be written in several ways.
bool has_label_forms(Task task);

// The cells of one label column.
struct LabelCells {
  std::span<const Row> rows;  // the first ones
  size_t column = 0;
  std::string_view name{};
  bool are_texts = false;   // RowReader::is_of_texts()
  bool have_names = false;  // the classes are known
  bool is_of_pairs = false;
};

// Looks at the labels of `task` in the first rows of a table, and says in `findings` what it found.
// `is_given`: the user named the task. Returns a resolved form unchanged.
LabelForm find_label_form(LabelForm given, const LabelCells& cells, Task task, bool is_given,
                          std::vector<Finding>& findings);

// The same for a set that has a column of marks for each label.
LabelForm find_mark_form(LabelForm given, std::span<const Row> rows,
                         std::span<const size_t> columns, bool are_texts,
                         std::vector<Finding>& findings);

// The labels in a text: the members of its list, or the parts between the separators. nullopt: it
// begins like a list, but is not one.
std::optional<std::vector<std::string>> label_parts(std::string_view text, const LabelForm& form);

// Whether a member of a multi-hot list is set. nullopt: it is neither 0 nor 1, False nor True.
std::optional<bool> parse_mark(std::string_view text);
// The same for a cell of a column of marks, which may also hold yes or no, or x. nullopt: it holds
// something else, or is missing.
std::optional<bool> column_mark(const Cell& cell);

// Whether the texts of a column are multi-hot lists of one length, of 2 or more. Completes `form`
// if they are. Lists of another length do not count under two conditions: a list has a label twice,
// so lists hold no names, and more than half of the lists have one length. Reading such a list is
// an error.
bool find_multi_hot(std::span<const Row> rows, size_t column, LabelForm& form);

// Whether columns of this name hold scores rather than classes: "stars".
bool names_scores(std::string_view column);

// Writes a resolved form for job.json, without the members that have their default values.
OrderedJson to_json(const LabelForm& form);
// nullopt: `object` is not such a form.
std::optional<LabelForm> label_form_of(const Json& object);

}  // namespace berth
