#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/features.h"
#include "trainer/tasks/answer_options.h"

namespace berth {

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
