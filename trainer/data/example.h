#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

// Where an answer stands in its context, in code points, and how it reads.
struct Answer {
  std::string text;
  uint32_t start = 0;
  bool operator==(const Answer&) const = default;
};

// One row, as its source gives it. What a task has no use for is empty.
struct Example {
  std::string id{};                  // empty: its row number is all it has
  std::vector<std::string> texts{};  // a text; a pair; a sentence's words; question and context
  // In place of texts: tokenized elsewhere, special tokens included.
  std::vector<int32_t> token_ids{}, token_types{};
  // Entries of a LabelDictionary: the class; all that apply; one a word. Empty: unlabelled.
  std::vector<int32_t> labels{};
  float score = 0;                // regression
  std::vector<Answer> answers{};  // question answering; none: there is no answer
  float weight = 1;               // of its loss

  bool operator==(const Example&) const = default;
};

}  // namespace berth
