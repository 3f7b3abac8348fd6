#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/tasks/answer_options.h"

namespace berth {

// Turns logits into the lines of predictions.tsv. Fields are separated by tabs:
//
//   one class   id, prediction, and for each label a column with its probability
//   set         id, prediction (labels joined by '|'), and for each label a column with its
//               probability
//   number      id, score
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
                                                       const AnswerOptions& answers);

}  // namespace berth
