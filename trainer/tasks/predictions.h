#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/tasks/prediction_rules.h"

namespace berth {

// A text as a field of a tab-separated line by CSV's rules, as pandas reads and writes it. A text
// with a quotation mark, a tab or a line end is put in quotation marks, and its own are doubled.
// Characters on which a terminal would act are escaped (printable_lines()), because people look at
// these files.
std::string one_field(std::string text);

// The place behind the end of the line that begins at `begin`. Quoted line ends do not end it.
size_t end_of_line(std::string_view lines, size_t begin);

// Turns logits into the lines of predictions.tsv. Fields are separated by tabs:
//
//   one class   id, prediction, and for each label a column with its probability
//   set         id, prediction (labels joined by '|'), and for each label a column with its
//               probability
//   choice      id, prediction (its number, from 0), and for each choice a column with its
//               probability
//   number      id, score
//   passage     id, score, rank: among the rows with the same query, from 1
//   tags        sentence, word, prediction, probability: a line for each word
//   answers     id, answer, start, end (code points of the context), probability
//
// The model does not see a word that was cut off or has no token. Such a word has the probability 0
// and the prediction O, or no prediction if O is not a label.
//
// Words are numbers from 0. Ids and sentences identify the rows (FoundColumns::id). Without them, a
// row has its number in the source, from 0; rows that were left out count, too. Borrows the data
// set. Not thread-safe.
class PredictionLines {
 public:
  virtual ~PredictionLines() = default;

  virtual std::string header() const = 0;
  // Adds logits as Evaluator::add() does, and returns the lines that they complete: none for a
  // window of a question that has more.
  virtual std::string add(int64_t index, std::span<const float> logits) = 0;
  // The number of words so far that the model did not see.
  virtual int64_t unseen_words() const { return 0; }
  // The number of rows so far that had no text.
  virtual int64_t empty_rows() const { return 0; }
};

// The lines of the data set's task. `labels` are the names of the classes, in the order of the
// logits.
std::unique_ptr<PredictionLines> make_prediction_lines(Dataset& data,
                                                       const std::vector<std::string>& labels,
                                                       const PredictionRules& rules);

// Whether a row of these inputs lacks a text, or a sentence all of its words: there is nothing to
// predict about it. A sentence may have empty words, which are words without a prediction.
bool is_empty_row(const Example& example, InputKind inputs);

// `lines`, in which an empty row has a line, too: its line has the id of the row, and all other
// fields are empty. Borrows the data set.
std::unique_ptr<PredictionLines> with_empty_rows(std::unique_ptr<PredictionLines> lines,
                                                 Dataset& data);

// Adds to each of `lines` its texts, as further columns: the text, with the second one of a pair,
// the question with its context, or the word (one_field()). Borrows the data set. Throws kUsage
// where the rows hold token ids and no texts.
std::unique_ptr<PredictionLines> with_text_columns(std::unique_ptr<PredictionLines> lines,
                                                   Dataset& data);

// Spreadsheets compute a cell that begins with = + - or @, or with a tab or a line end before them.
// Puts an apostrophe before each such field, which spreadsheets take for the mark of a text.
// Numbers stay as they are.
std::unique_ptr<PredictionLines> with_spreadsheet_cells(std::unique_ptr<PredictionLines> lines);

}  // namespace berth
