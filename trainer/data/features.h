#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trainer/data/example.h"
#include "trainer/model/task.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// What the model is given of an example: its tokens, special ones included, and what it should say.
struct Features {
  std::vector<int32_t> input_ids, token_type_ids;

  // One class; or one a token, -1 for none; or the first and the last token of the answer, 0 and 0
  // where the window holds none. Empty: unlabelled.
  std::vector<int32_t> classes{};
  std::vector<float> targets{};  // the score; or 0 or 1 a label
  float weight = 1;

  // Word of a sentence that a token begins, -1 for the others; for the words' results.
  std::vector<int32_t> words{};
  // Of a window: what part of the context each token stands for, in code points; {0, 0} outside it.
  std::vector<Span> context{};
};

struct FeatureOptions {
  Task task = kDefaultTask;
  int32_t max_seq_length = 128;
  // Tokens that neighbouring windows of a context share; empty: 128, or half of a window that has
  // less than twice that.
  std::optional<int64_t> doc_stride{};
  bool labelled = true;            // examples have labels, and they are wanted
  std::vector<int32_t> classes{};  // of each entry of the table's LabelDictionary
  int32_t num_classes = 0;
  std::vector<float> class_weights{};  // empty: all 1
};

// Examples to features. Immutable and thread-safe; borrows the tokenizer.
class FeatureMaker {
 public:
  virtual ~FeatureMaker() = default;

  // One, or of a question as many as its context has windows. Throws kUsage where max_seq_length is
  // too small for the example's kind, kBadData where token ids are more than it.
  virtual std::vector<Features> make(const Example& example) const = 0;
};

std::unique_ptr<FeatureMaker> make_feature_maker(FeatureOptions options,
                                                 const Tokenizer& tokenizer);

// The makers by task.
// Texts and pairs, cut longest first.
std::unique_ptr<FeatureMaker> make_text_features(FeatureOptions options,
                                                 const Tokenizer& tokenizer);
// Sentences of words: the first token of each word has its class, the others none (Devlin et al.
// 2018, arXiv:1810.04805, section 5.3).
std::unique_ptr<FeatureMaker> make_word_features(FeatureOptions options,
                                                 const Tokenizer& tokenizer);
// Questions, cut to 64 tokens: windows over the context that overlap by doc_stride tokens. Where a
// window does not hold the answer, the first token stands for it.
std::unique_ptr<FeatureMaker> make_answer_features(FeatureOptions options,
                                                   const Tokenizer& tokenizer);

}  // namespace berth
