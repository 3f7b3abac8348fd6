#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/tasks/answer_options.h"

namespace berth {

// The lines of predictions.tsv, of a task's kind:
//
//   one class      id, prediction, one column a label with its probability
//   several        id, prediction (labels joined by '|'), one column a label with its probability
//   regression     id, score
//   words          sentence, word (its number), prediction, probability; of a word that the model
//                  did not see (cut off, or without a token) O and 0
//   answers        id, answer, start, end (code points of the context), probability
//
// Ids are row numbers of the source from 0, those of rows left out missing (a question's own where
// it has one). Borrows the data set.
class PredictionLines {
 public:
  virtual ~PredictionLines() = default;

  virtual std::string header() const = 0;
  // The lines that the logits of the features at `index` complete; as Evaluator::add().
  virtual std::string add(int64_t index, std::span<const float> logits) = 0;
  // Words so far that the model did not see.
  virtual int64_t unseen_words() const { return 0; }
};

std::unique_ptr<PredictionLines> make_prediction_lines(Dataset& data,
                                                       const std::vector<std::string>& labels,
                                                       const AnswerOptions& answers);

}  // namespace berth
