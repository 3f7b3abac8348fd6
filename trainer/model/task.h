#pragma once

namespace berth {

// What a model is asked: what labels rows have, what the head computes, what the metrics are.
enum class Task {
  kSequenceClassification,  // one class a text, or pair of texts
  kRegression,              // one number a text or pair
  kMultiLabel,              // any number of classes a text or pair
  kTokenClassification,     // one class a word
  kQuestionAnswering,       // where in a context the answer to a question stands
  kMaskedLm,                // the ids of masked tokens
};

}  // namespace berth
