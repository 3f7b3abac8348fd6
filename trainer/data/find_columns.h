#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/model/task.h"

namespace berth {

// Column names as given; empty: found by name among those the field uses (text, sentence, content,
// ...; label, target, class, ...; pairs as sentence1 with sentence2; words with tags; question,
// context and answers).
struct ColumnChoice {
  std::string text{}, text_pair{};
  std::string label{};   // multi-label: several, with commas, one 0/1 column a label
  std::string weight{};  // empty: all rows count alike
};

// Whether rows must have labels. Ignored ones are not read, whatever their cells hold: rows to
// predict may have a column of them that is empty, or -1, or of classes that nobody knows.
enum class LabelNeed { kRequired, kIfPresent, kIgnored };

// Indices into a table's columns.
struct FoundColumns {
  size_t text = 0;  // of a question: the question
  std::optional<size_t> text_pair{}, id{}, weight{};
  std::vector<size_t> labels{};  // one; more where each label has a column; none: unlabelled
};

// Throws kBadData, listing the table's columns, when a wanted one is not there or two would do;
// kUsage when two roles name the same one.
FoundColumns find_columns(std::span<const Column> columns, const ColumnChoice& choice,
                          LabelNeed need, Task task = kDefaultTask);

// Whether a table holds words and tags, or questions with answers, by its columns' names.
bool names_words_and_tags(std::span<const Column> columns);
bool names_answers(std::span<const Column> columns);

}  // namespace berth
