#pragma once

#include <cstdint>

namespace berth {

// Which spans may answer a question.
struct AnswerOptions {
  int32_t n_best = 20;             // starts and ends that are looked at
  int32_t max_answer_length = 30;  // tokens
  bool may_be_none = false;        // questions without an answer (SQuAD 2.0)
  double null_threshold = 0;       // no answer, where its score exceeds the best span's by more
};

}  // namespace berth
