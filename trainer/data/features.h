#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/example.h"
#include "trainer/model/task.h"
#include "trainer/text/tokenizer.h"

namespace berth {

class ExampleTable;
struct PairMaker;

// An example as the model takes it: one sequence of tokens, special tokens included, and the label
// that the model should predict. The texts of a group, and documents that are joined to a block,
// are several sequences, one after another.
struct Features {
  std::vector<int32_t> input_ids, token_type_ids;
  std::vector<int32_t> ends{};  // where each of several sequences ends; empty: there is one

  // The label, by the task's LabelKind. Both are empty where it is unlabelled. The class, or a
  // class for each token (-1: none). For answers, the first and the last token, which are both 0 if
  // the window holds no answer.
  std::vector<int32_t> classes{};
  std::vector<float> targets{};  // the number; or 0 or 1 for each class of a set
  float weight = 1;              // a factor of the loss
  // For each token such a factor in place of `weight`; empty: there are none. Only of words.
  std::vector<float> token_weights{};
  // As Example::masked. Empty: masking chooses tokens, if the task does.
  std::vector<int32_t> masked{};

  // For each token the word of the sentence that it begins, or -1. Empty unless inputs are words.
  std::vector<int32_t> words{};
  // For each token of a window the part of the context that it stands for, in code points; {0, 0}
  // for tokens outside the context. Empty unless inputs are questions.
  std::vector<Span> context{};
};

struct FeatureOptions {
  Task task = kDefaultTask;
  int32_t max_seq_length = 128;  // tokens
  // Tokens that neighbouring windows of a context share. Empty: 128, or half the window where that
  // is less.
  std::optional<int64_t> doc_stride{};
  std::optional<int64_t> doc_step{};  // tokens between the starts of windows, instead of it
  bool labelled = true;               // examples have labels, which become labels of the features
  std::vector<int32_t> classes{};     // the class of each entry of the table's LabelDictionary
  int32_t num_classes = 0;
  // The weights of classes, where a text or word has one; empty: all 1. Sets have weights in the
  // loss (LossOptions).
  std::vector<float> class_weights{};
  double max_similarity = 1;            // of texts that mean the same; labels are divided by it
  bool similarities_are_marks = false;  // 0 or 1, once they are divided
  bool relevances_are_probabilities = false;  // from 0 to 1, where passages are ranked
  // What stands before the first text of a row and, in a group, before each other text.
  std::string first_prompt{}, other_prompt{};
  uint64_t seed = 42;  // of the pairs that are made of sentences
};

// The features of one row: one for each window of a question's context, one for each sequence of a
// document, and else a single one. Windows overlap, so they are made when they are asked for and
// only the tokens of the row are kept. Immutable and thread-safe.
class RowFeatures {
 public:
  virtual ~RowFeatures() = default;

  virtual size_t size() const = 0;
  virtual size_t tokens(size_t i) const = 0;  // of features i
  // Features i. They are in `storage`, or kept here as long as this object.
  virtual const Features& get(size_t i, Features& storage) const = 0;
  // The memory that this holds, in bytes. Rows that share tokens count them once.
  virtual size_t memory_bytes() const = 0;
};

// Turns examples into features. Immutable and thread-safe. Borrows the tokenizer.
class FeatureMaker {
 public:
  virtual ~FeatureMaker() = default;

  // What it returns borrows from this. Throws kUsage where max_seq_length is too small for the
  // example.
  virtual std::unique_ptr<RowFeatures> plan(const Example& example) const;
  // All features of plan().
  virtual std::vector<Features> make(const Example& example) const = 0;
  // What makes pairs of the sentences that are the features of texts: see SentencePairs, which
  // borrows both arguments. Null: features are what the model takes, or
  // are unlabelled.
  virtual std::unique_ptr<PairMaker> pairs(std::span<const uint32_t> lengths,
                                           std::span<const uint32_t> first_sentence) const;
  // The memory that is kept from call to call, in bytes.
  virtual size_t memory_bytes() const { return 0; }
};

size_t memory_bytes(const Features& features);

// The maker for the task's InputKind: one of those below.
std::unique_ptr<FeatureMaker> make_feature_maker(FeatureOptions options,
                                                 const Tokenizer& tokenizer);

// For texts, pairs and groups. A pair that is too long loses tokens of its longer text first. Each
// text of a group may have max_seq_length tokens. Throws kBadData where the label of a group is
// larger than max_similarity, or smaller than its negative, or no mark where it should be one. It
// also does where a prompt should stand before token ids.
std::unique_ptr<FeatureMaker> make_text_features(FeatureOptions options,
                                                 const Tokenizer& tokenizer);
// For sentences of words. The first token of each word has the word's class, the others have none
// (Devlin et al. 2018, arXiv:1810.04805, section 5.3).
std::unique_ptr<FeatureMaker> make_word_features(FeatureOptions options,
                                                 const Tokenizer& tokenizer);
// Whether any row of words has one that takes no space before it (Tokenizer::takes_no_space()).
// Earlier versions tokenized such a row with a token for that space. Reads the rows.
bool has_word_without_space(const ExampleTable& table, const Tokenizer& tokenizer);
// Whether any row of words has one whose first token is the space alone, with an empty span.
// Earlier versions gave the word's class to the next token. Tokenizes words until one is found.
bool has_word_behind_space(const ExampleTable& table, const Tokenizer& tokenizer);
// The same for a tokenizer that adds a space to a text without one (add_prefix_space).
bool has_word_behind_added_space(const ExampleTable& table, const Tokenizer& tokenizer);
// How job.json calls the rule that the class is at the space.
inline constexpr const char* kSpaceRule = "a word's class is at its space where that is a token";
// For questions, which are cut to 64 tokens. The windows over the context overlap by doc_stride
// tokens, or start doc_step tokens apart. In a window that does not hold the whole answer, the
// first token is labelled as the answer.
std::unique_ptr<FeatureMaker> make_answer_features(FeatureOptions options,
                                                   const Tokenizer& tokenizer);
// For documents. A document that is too long for one sequence becomes several, each with the
// model's special tokens, which share none of its tokens. Token ids are a sequence, or a block of
// several whose ends are the example's labels. Features have no label: masking makes it.
std::unique_ptr<FeatureMaker> make_document_features(FeatureOptions options,
                                                     const Tokenizer& tokenizer);

// What the feature makers share.

// The features of an example that was tokenized elsewhere. Throws kUsage where it has more than
// `max_length` tokens.
Features token_features(const Example& example, int32_t max_length);

// The class of an entry of the LabelDictionary; -1, which is no label, stays -1.
int32_t class_of(const FeatureOptions& options, int32_t entry);
// The weight of a class; 1 where there are no weights or no label.
float class_weight(const FeatureOptions& options, int32_t label);

}  // namespace berth
