#include <algorithm>

#include "storage/base/code_points.h"
#include "trainer/data/example_table.h"
#include "trainer/data/features.h"
#include "trainer/data/token_features.h"

namespace berth {
namespace {

class WordFeatures final : public FeatureMaker {
 public:
  WordFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  std::vector<Features> make(const Example& example) const override {
    Features features = example.token_ids.empty() ? of_words(example.texts) : of_tokens(example);
    if (!options_.labelled) return {std::move(features)};
    features.weight = example.weight;
    features.classes.assign(features.input_ids.size(), -1);
    for (size_t token = 0; token < features.words.size(); ++token) {
      const int32_t word = features.words[token];
      if (word < 0) continue;
      features.classes[token] = class_of(options_, example.labels.at(static_cast<size_t>(word)));
    }
    return {std::move(features)};
  }

 private:
  // Each of the given tokens is a word of its own.
  Features of_tokens(const Example& example) const {
    Features features = token_features(example, options_.max_seq_length);
    for (size_t token = 0; token < features.input_ids.size(); ++token) {
      features.words.push_back(static_cast<int32_t>(token));
    }
    return features;
  }

  // Every word follows a space, and so does the first one: to byte-level BPE a word without a space
  // before it is a different word.
  Features of_words(const std::vector<std::string>& words) const {
    std::string sentence;
    std::vector<uint32_t> ends;     // where each word ends, in code points
    std::vector<size_t> byte_ends;  // and in bytes
    uint32_t end = 0;
    for (const std::string& word : words) {
      sentence.append(" ").append(word);
      end += 1 + code_point_count(word);
      ends.push_back(end);
      byte_ends.push_back(sentence.size());
    }
    EncodeOptions encode(options_.max_seq_length);
    encode.with_offsets = true;
    encode.word_ends = byte_ends;
    Encoding encoding = tokenizer_.encode(sentence, std::nullopt, encode);
    Features features{.input_ids = std::move(encoding.input_ids),
                      .token_type_ids = std::move(encoding.token_type_ids)};
    features.words.assign(features.input_ids.size(), -1);
    size_t word = 0;
    int32_t last = -1;
    for (size_t token = 0; token < encoding.offsets.size(); ++token) {
      const Span span = encoding.offsets[token];
      if (span.begin == span.end) continue;
      while (word < ends.size() && span.end > ends[word]) ++word;
      if (word == ends.size()) break;
      if (static_cast<int32_t>(word) != last) features.words[token] = static_cast<int32_t>(word);
      last = static_cast<int32_t>(word);
    }
    return features;
  }

  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
};

}  // namespace

bool has_word_without_space(const ExampleTable& table, const Tokenizer& tokenizer) {
  if (!tokenizer.takes_no_space("")) return false;
  const auto takes_none = [&](const std::string& word) { return tokenizer.takes_no_space(word); };
  for (uint32_t row = 0; row < table.rows(); ++row) {
    if (std::ranges::any_of(table.read(row).texts, takes_none)) return true;
  }
  return false;
}

std::unique_ptr<FeatureMaker> make_word_features(FeatureOptions options,
                                                 const Tokenizer& tokenizer) {
  return std::make_unique<WordFeatures>(std::move(options), tokenizer);
}

}  // namespace berth
