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

// A table whose first rows were looked at.
struct PeekedTable {
  std::span<const Column> columns;
  std::span<const Row> rows;
  bool are_texts = false;  // RowReader::is_of_texts()
};

// The names of a table's columns, for the hint of an error: "the columns are "text", "label"". Says
// so where the names look like a line that was not split, or like a row.
std::string list_columns(std::span<const Column> columns);

// Whether the name of a column says that it tells rows apart, and so holds no texts: "id",
// "Unnamed: 0", "review_id".
bool names_rows(std::string_view name);

// The names, in quotes, of other columns than `label` that may hold the labels: "intent" beside
// "sentiment", but not beside "label", whose name plainly means labels; and "label.1" or "Label"
// beside "label". `used`: other columns that are read.
std::vector<std::string> other_labels(std::span<const Column> columns, size_t label,
                                      std::span<const size_t> used);

// The first column that holds weights of rows by its name, such as "sample_weight".
std::optional<size_t> find_weights(std::span<const Column> columns);

// The names of the columns to use, as the user gave them. Where a name is empty, the column is
// found by the names that the task's columns usually have (TaskTraits): text and label, sentence1
// with sentence2, words with tags, question with context and answers, context with choices.
struct ColumnChoice {
  // The names of the columns that a model was trained on. Where there is a column of such a name,
  // it outranks the others that have a usual name.
  struct Trained {
    std::string text{}, text_pair{}, label{};  // text_pair: empty if it was trained on one text
    bool cuts_words = false;                   // ColumnChoice::cuts_words
    bool operator==(const Trained&) const = default;
  };

  std::string text{}, text_pair{};
  std::vector<std::string> others{};  // a group's negatives, or the choices; no flag names them
  std::string label{};  // sets of classes: may name several, with commas, each a column of 0 and 1
  // Whether words were cut out of texts as annotated_words() does, because tags belong to spans.
  bool cuts_words = false;
  // For tags of words, what they say: "pos" prefers the column pos_tags and takes no ner_tags.
  // Empty: any tags.
  std::string tags{};
  std::string weight{};  // empty: all rows have the same weight
  // Whether rows may lack the column of weights, as rows to evaluate on do. Each then weighs 1.
  bool may_lack_weights = false;
  // What rows to predict, and questions, are known by; empty: found by its name, if there is one.
  std::string id{};
  // Where texts are compared without labels: a column that has a usual name for labels, and numbers
  // that say something else. Empty: there is none.
  std::string unread_label{};
  std::optional<Trained> trained{};  // nullopt: unknown
};

// Whether rows must have labels. Labels that are ignored are not read, whatever the cells hold: the
// label column of rows to predict may be empty, or hold -1 or unknown classes.
enum class LabelNeed { kRequired, kIfPresent, kIgnored };

// A column that says whether a question has an answer, such as "is_impossible".
struct Answerable {
  size_t column = 0;
  bool is_negated = false;  // as in "is_impossible"
};

// Indices into a table's columns.
struct FoundColumns {
  size_t text = 0;                                    // or words, or the question
  std::optional<size_t> text_pair{}, id{}, weight{};  // text_pair: or the context
  std::vector<size_t> others{};          // a group's negatives, or the columns of the choices
  std::vector<size_t> labels{};          // one, or one for each class of a set; empty: unlabelled
  std::optional<size_t> answer_start{};  // of answers that have a column for their places
  std::optional<size_t> answer{};        // which rows an annotator has accepted; see find_answer()
  std::optional<Answerable> answerable{};  // of questions
  std::optional<size_t> source{};      // of rows with scores: where a row comes from, by its name
  bool leaves_out_unfinished = false;  // rows without a label were not annotated
  bool cuts_words = false;             // sentences that are texts become words so
  bool keeps_missing_texts = false;    // a missing text is empty, and a sentence may have no words
  // Of a teacher's scores: one column for all texts of a group but the first one, or one for its
  // positives and one for its negatives. Empty: they are not read.
  std::vector<size_t> text_scores{};
  int64_t max_negatives = 0;  // the most texts of a row that are read from them; 0: all
};

// Finds the columns of a table by the choice and the task. Throws kBadData, listing the table's
// columns, if a needed column is absent. Also throws it if a column that would be read holds values
// that have no form as cells. Throws kUsage if one column would have two roles.
FoundColumns find_columns(std::span<const Column> columns, const ColumnChoice& choice,
                          LabelNeed need, Task task = kDefaultTask);

// The columns that are named like negatives, and by their names hold their ids, scores, titles or
// the like: none of them is read.
std::vector<size_t> numbers_of_negatives(std::span<const Column> columns);

// Whether the text is one of two by its column's name, such as "premise". The other one may be a
// column that is not used.
bool is_one_of_pair(std::span<const Column> columns, const FoundColumns& found);

// The names of columns that are not used and hold texts which belong to the ones that are read, as
// the names say, in quotes. `is_named`: a flag names the text, so that only its usual partners
// count.
std::vector<std::string> unread_texts(std::span<const Column> columns, const FoundColumns& found,
                                      bool is_named = false);

// The same of rows with choices: the names of columns that hold contexts, questions or facts.
std::vector<std::string> unread_contexts(std::span<const Column> columns,
                                         const FoundColumns& found);

// Warnings of texts that seem to belong to the ones that are read, unless flags name all of these.
std::vector<Finding> look_for_texts(std::span<const Column> columns, const FoundColumns& found,
                                    Task task, const ColumnChoice& choice);

// The same of columns that may be the second of two texts that are compared, or belong to it.
std::vector<std::string> other_seconds(std::span<const Column> columns, const FoundColumns& found);

// The columns that hold a teacher's scores of the texts of a group (FoundColumns::text_scores):
// the column `label`, or one that has a usual name for scores, or FlagEmbedding's "pos_scores" and
// "neg_scores". Empty: there are none. Throws kBadData where there is no column `label`.
std::vector<size_t> find_text_scores(std::span<const Column> columns, const std::string& label);

// The first column that has a usual name for the labels of `task`.
std::optional<size_t> find_usual_labels(std::span<const Column> columns, Task task);

// Whether a table holds words with tags, or questions with answers, by the names of its columns.
bool names_words_and_tags(std::span<const Column> columns);
bool names_answers(std::span<const Column> columns);
// Whether none of these rows has answers with their places: their cells are plain, and the table
// has no column of places. The column may then hold one of several answers that a label judges, or
// the label itself.
bool has_plain_answers(std::span<const Column> columns, std::span<const Row> rows);

// Rows that annotators have left out. These say why; they stand in the log and in job.json.
constexpr std::string_view kLeftOut = "left out: ";
constexpr std::string_view kRefusedRows = "their column \"answer\" is reject or ignore";
constexpr std::string_view kUnfinishedRows = "no annotator has finished them";

// Prodigy's column "answer", whose cells are accept, reject or ignore. Looks at the first rows.
// nullopt: there is none, or it is the text or the label.
std::optional<size_t> find_answer(std::span<const Column> columns, std::span<const Row> rows,
                                  const ColumnChoice& choice);
// Whether a cell of that column says that the row was not accepted.
bool is_refusal(const Cell& cell);

// Warns of columns outside of `used` that say which split a row belongs to: by their names, as
// "is_valid", or because all `rows` have "train", "dev" and the like there. `rows` may be empty.
std::vector<Finding> look_for_splits(std::span<const Column> columns, std::span<const Row> rows,
                                     std::span<const size_t> used);
// Warns of columns outside of `used`, such as "status", that say of some `rows` that they were
// rejected.
std::vector<Finding> look_for_refusals(std::span<const Column> columns, std::span<const Row> rows,
                                       std::span<const size_t> used);

}  // namespace berth
