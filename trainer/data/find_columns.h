#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/model/task.h"

namespace berth {

// The names of the columns to use, as the user gave them. Where a name is empty, the column is
// found by the names that the task's columns usually have (TaskTraits): text and label, sentence1
// with sentence2, words with tags, question with context and answers.
struct ColumnChoice {
  // The names of the columns that a model was trained on. Where there is a column of such a name,
  // it outranks the others that have a usual name.
  struct Trained {
    std::string text{}, text_pair{}, label{};  // text_pair: empty if it was trained on one text
    bool operator==(const Trained&) const = default;
  };

  std::string text{}, text_pair{};
  std::string negative{};  // a group's third text; no flag names it
  std::string label{};  // sets of classes: may name several, with commas, each a column of 0 and 1
  // For tags of words, what they say: "pos" prefers the column pos_tags and takes no ner_tags.
  // Empty: any tags.
  std::string tags{};
  std::string weight{};  // empty: all rows have the same weight
  // What rows to predict, and questions, are known by; empty: found by its name, if there is one.
  std::string id{};
  std::optional<Trained> trained{};  // nullopt: unknown
};

// Whether rows must have labels. Labels that are ignored are not read, whatever the cells hold: the
// label column of rows to predict may be empty, or hold -1 or unknown classes.
enum class LabelNeed { kRequired, kIfPresent, kIgnored };

// Indices into a table's columns.
struct FoundColumns {
  size_t text = 0;                                    // or words, or the question
  std::optional<size_t> text_pair{}, id{}, weight{};  // text_pair: or the context
  std::optional<size_t> negative{};      // a text that is not like the first one of a group
  std::vector<size_t> labels{};          // one, or one for each class of a set; empty: unlabelled
  std::optional<size_t> answer_start{};  // of answers that have a column for their places
  std::optional<size_t> answer{};        // which rows an annotator has accepted; see find_answer()
  bool leaves_out_unfinished = false;    // rows without a label were not annotated
  bool keeps_missing_texts = false;  // a missing text is empty, and a sentence may have no words
};

// Finds the columns of a table by the choice and the task. Throws kBadData, listing the table's
// columns, if a needed column is absent. Also throws it if a column that would be read holds values
// that have no form as cells. Throws kUsage if one column would have two roles.
FoundColumns find_columns(std::span<const Column> columns, const ColumnChoice& choice,
                          LabelNeed need, Task task = kDefaultTask);

// The names of columns that are not used and hold texts, as their names say, in quotes.
std::vector<std::string> unread_texts(std::span<const Column> columns, const FoundColumns& found);

// The first column that has a usual name for the labels of `task`.
std::optional<size_t> find_usual_labels(std::span<const Column> columns, Task task);

// Whether a table holds words with tags, or questions with answers, by the names of its columns.
bool names_words_and_tags(std::span<const Column> columns);
bool names_answers(std::span<const Column> columns);

}  // namespace berth
