#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/features.h"

namespace berth {

// Which spans of a context may answer a question.
struct AnswerOptions {
  int32_t n_best = 20;             // how many of the best starts and ends are combined
  int32_t max_answer_length = 30;  // tokens
  bool may_be_none = false;        // a question may have no answer, as in SQuAD 2.0
  // "No answer" is chosen if its score exceeds the best span's score by more than this.
  double null_threshold = 0;
};

// The answer to a question.
struct PickedAnswer {
  std::string text{};           // empty: there is no answer
  uint32_t begin = 0, end = 0;  // its place in the context, in code points
  double probability = 0;       // a softmax over the spans that were compared
};

// Chooses the answer to a question from the logits of its windows, as Hugging Face's
// postprocess_qa_predictions does: the span inside one window whose start and end logits have the
// highest sum. Not thread-safe.
class AnswerPicker {
 public:
  explicit AnswerPicker(const AnswerOptions& options) : options_(options) {}

  // Adds a window. `logits` [tokens,2] score each token as the answer's first and last token.
  void add(const Features& window, std::span<const float> logits);
  // Chooses an answer from the windows that were added since the last call.
  PickedAnswer pick(const std::string& context);

 private:
  struct Candidate {
    uint32_t begin, end;
    double score;
  };

  const AnswerOptions options_;
  std::vector<Candidate> candidates_;
  bool has_null_ = false;
  double null_score_ = 0;  // of "no answer": the lowest over the windows
};

}  // namespace berth
