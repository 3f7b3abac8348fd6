#pragma once

#include <cstdint>

namespace berth {

// Which spans of a context may answer a question.
struct AnswerOptions {
  int32_t n_best = 20;             // how many of the best starts and ends are combined
  int32_t max_answer_length = 30;  // tokens
  bool may_be_none = false;        // a question may have no answer, as in SQuAD 2.0
  // "No answer" is chosen if its score exceeds the best span's score by more than this.
  double null_threshold = 0;
};

}  // namespace berth
