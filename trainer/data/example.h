#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace berth {

// An answer to a question.
struct Answer {
  std::string text;
  uint32_t start = 0;  // where it begins in the context, in code points
  bool operator==(const Answer&) const = default;
};

// One row as its source gives it, before it is tokenized. Fields that its task does not use are
// empty.
struct Example {
  std::string id{};  // empty: the row is known by its number
  // By the task's InputKind: a text, or a pair; the words of a sentence; question and context; the
  // texts of a group.
  std::vector<std::string> texts{};
  // In place of texts, where the source has token ids. They include the special tokens.
  std::vector<int32_t> token_ids{}, token_types{};

  // Of token ids that are masked already: for each masked token its place in token_ids, which
  // increases, and the id that the model should predict, one after the other. Empty: none is.
  std::vector<int32_t> masked{};

  // The label, by the task's LabelKind.
  // Entries of a LabelDictionary: the class; all classes of the set; a tag for each word (-1:
  // none). Of a pair of token ids, for next sentence prediction: 1 if the second text is from
  // elsewhere, else 0.
  std::vector<int32_t> labels{};
  float score = 0;  // the number
  // Of the texts of a group but the first one: the scores that a teacher gives them. Empty: there
  // are none.
  std::vector<float> text_scores{};
  std::vector<Answer> answers{};  // accepted answers; empty: the question has no answer

  float weight = 1;  // a factor of its loss

  bool operator==(const Example&) const = default;
};

// Rows that an ExampleTable takes from where they lie, instead of keeping copies. Immutable and
// thread-safe.
class StoredExamples {
 public:
  virtual ~StoredExamples() = default;

  virtual size_t rows() const = 0;
  virtual Example read(uint32_t row) const = 0;
  // The size of the rows where they lie. It decides whether they are treated as rows on disk.
  virtual size_t size_bytes() const = 0;
};

}  // namespace berth
