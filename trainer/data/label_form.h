#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/model/task.h"

namespace berth {

enum class LabelLists : uint8_t {
  kAuto,      // what the first rows show
  kNames,     // a list holds the names of labels
  kMultiHot,  // a list holds a 0 or 1 for each label
};

// How the cells of a label column are written. A user gives `lists` and `separators`, and
// find_label_form() completes them.
struct LabelForm {
  LabelLists lists = LabelLists::kAuto;
  // What stands between the labels of a set in one text. Empty: '|', or ',' where a text has no
  // '|'.
  std::string separators{};
  size_t positions = 0;        // the length of multi-hot lists; 0: lists hold names
  bool decimal_comma = false;  // numbers are written with decimal commas
};

// Whether the labels of a task may be written in several ways.
bool has_label_forms(Task task);

// Looks at the labels of `task` in the first rows of a table, and says in `findings` what it found.
// `is_given`: the user named the task.
LabelForm find_label_form(LabelForm given, std::span<const Row> rows, size_t column, Task task,
                          bool is_given, std::vector<Finding>& findings);

// The labels in a text: the members of its list, or what stands between the separators. nullopt: it
// begins as a list and is none.
std::optional<std::vector<std::string>> label_parts(std::string_view text, const LabelForm& form);

// Whether a member of a multi-hot list is set. nullopt: it is neither 0 nor 1, False nor True.
std::optional<bool> parse_mark(std::string_view text);

// Whether all texts of a column are multi-hot lists of one length, of 2 or more. Completes `form`
// if they are.
bool find_multi_hot(std::span<const Row> rows, size_t column, LabelForm& form);

// What the numbers of a column show, where all of its texts are numbers.
enum class DecimalCommas {
  kNone,       // no text has a comma, or some text is no number
  kSome,       // commas are decimal
  kAmbiguous,  // "1,234" may be 1234
};
DecimalCommas find_decimal_commas(std::span<const Row> rows, size_t column);

}  // namespace berth
