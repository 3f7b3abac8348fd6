#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/features.h"
#include "trainer/tasks/answer_options.h"

namespace berth {

struct PickedAnswer {
  std::string text{};           // empty: there is no answer
  uint32_t begin = 0, end = 0;  // of the context, in code points
  double probability = 0;       // among the spans that were looked at
};

// Picks a question's answer from the logits of its windows: the span inside one window whose start
// and end logits sum highest, as Hugging Face's postprocess_qa_predictions does.
class AnswerPicker {
 public:
  explicit AnswerPicker(const AnswerOptions& options) : options_(options) {}

  // `logits` [tokens,2]: start and end.
  void add(const Features& window, std::span<const float> logits);
  // The answer of the windows added since the last call.
  PickedAnswer pick(const std::string& context);

 private:
  struct Candidate {
    uint32_t begin, end;
    double score;
  };

  const AnswerOptions options_;
  std::vector<Candidate> candidates_;
  bool has_null_ = false;
  double null_score_ = 0;  // the lowest of the windows'
};

}  // namespace berth
