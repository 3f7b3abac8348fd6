#include "trainer/data/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/example_table.h"
#include "trainer/data/sentence_pairs.h"
#include "trainer/text/tokenizer.h"

namespace berth {
namespace {

// The tokens of a context, as they are in every pair of a question with it.
struct ContextTokens {
  std::vector<int32_t> ids;
  std::vector<Span> offsets;  // in code points of the context

  size_t memory_bytes() const {
    return ids.size() * sizeof(int32_t) + offsets.size() * sizeof(Span);
  }
};

// Keeps the contexts of late, because a file asks many questions about each: up to 16, which hold
// no more than 32 MiB together, or the last one alone. Thread-safe.
class RecentContexts {
 public:
  // Null if it is not one of them.
  std::shared_ptr<const ContextTokens> find(std::string_view text) const;
  void keep(std::string_view text, std::shared_ptr<const ContextTokens> tokens);
  // What they hold, in bytes, without tokens that others hold, too.
  size_t memory_bytes() const;

 private:
  static constexpr size_t kPlaces = 16, kMostBytes = size_t{32} << 20;

  struct Place {
    std::string text{};
    std::shared_ptr<const ContextTokens> tokens{};  // null: the place is free

    size_t memory_bytes() const { return tokens ? text.capacity() + tokens->memory_bytes() : 0; }
  };
  static size_t place_of(std::string_view text);
  size_t held_bytes() const;

  mutable std::mutex mutex_;
  std::array<Place, kPlaces> places_;
};

size_t RecentContexts::place_of(std::string_view text) {
  return std::hash<std::string_view>()(text) % kPlaces;
}

std::shared_ptr<const ContextTokens> RecentContexts::find(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  const Place& place = places_[place_of(text)];
  return place.text == text ? place.tokens : nullptr;
}

void RecentContexts::keep(std::string_view text, std::shared_ptr<const ContextTokens> tokens) {
  const std::lock_guard lock(mutex_);
  Place& place = places_[place_of(text)];
  place = {};
  if (held_bytes() + text.size() + tokens->memory_bytes() > kMostBytes) places_ = {};
  place = {std::string(text), std::move(tokens)};
}

size_t RecentContexts::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t size_bytes = 0;
  for (const Place& place : places_) {
    size_bytes += place.tokens.use_count() > 1 ? place.text.capacity() : place.memory_bytes();
  }
  return size_bytes;
}

size_t RecentContexts::held_bytes() const {
  size_t size_bytes = 0;
  for (const Place& place : places_) size_bytes += place.memory_bytes();
  return size_bytes;
}

}  // namespace

Features token_features(const Example& example, int32_t max_length) {
  if (example.token_ids.size() > static_cast<size_t>(max_length)) {
    throw Error(Code::kUsage,
                cat("a row has ", example.token_ids.size(), " tokens, but --max-seq-length is ",
                    max_length),
                "", "pass the length that the records were made with");
  }
  return {.input_ids = example.token_ids, .token_type_ids = example.token_types};
}

int32_t class_of(const FeatureOptions& options, int32_t entry) {
  return entry < 0 ? -1 : options.classes.at(static_cast<size_t>(entry));
}

float class_weight(const FeatureOptions& options, int32_t label) {
  if (options.class_weights.empty() || label < 0) return 1;
  return options.class_weights.at(static_cast<size_t>(label));
}

std::unique_ptr<FeatureMaker> make_feature_maker(FeatureOptions options,
                                                 const Tokenizer& tokenizer) {
  switch (traits(options.task).inputs) {
    case InputKind::kWords:
      return make_word_features(std::move(options), tokenizer);
    case InputKind::kQuestion:
      return make_answer_features(std::move(options), tokenizer);
    case InputKind::kDocument:
      return make_document_features(std::move(options), tokenizer);
    case InputKind::kSentences:
      return make_sentence_features(std::move(options), tokenizer);
    case InputKind::kTexts:
    case InputKind::kText:
    case InputKind::kTextGroup:
      break;
  }
  return make_text_features(std::move(options), tokenizer);
}

namespace {

// Features that are kept as they were made.
class MadeFeatures final : public RowFeatures {
 public:
  explicit MadeFeatures(std::vector<Features> features) : features_(std::move(features)) {}

  size_t size() const override { return features_.size(); }
  size_t tokens(size_t i) const override { return features_[i].input_ids.size(); }
  const Features& get(size_t i, Features&) const override { return features_[i]; }
  size_t memory_bytes() const override {
    size_t size_bytes = sizeof *this;
    for (const Features& features : features_) size_bytes += berth::memory_bytes(features);
    return size_bytes;
  }

 private:
  const std::vector<Features> features_;
};

}  // namespace

std::unique_ptr<RowFeatures> FeatureMaker::plan(const Example& example) const {
  return std::make_unique<MadeFeatures>(make(example));
}

size_t memory_bytes(const Features& features) {
  constexpr size_t kHeapBytes = 16;  // of each allocation: its header, and rounding on average
  size_t size_bytes = sizeof(Features);
  const auto add = [&](const auto& values) {
    if (values.capacity() > 0) size_bytes += values.capacity() * sizeof(values[0]) + kHeapBytes;
  };
  add(features.input_ids);
  add(features.token_type_ids);
  add(features.ends);
  add(features.classes);
  add(features.targets);
  add(features.token_weights);
  add(features.masked);
  add(features.words);
  add(features.context);
  return size_bytes;
}

namespace {

class TextFeatures final : public FeatureMaker {
 public:
  TextFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  std::vector<Features> make(const Example& example) const override {
    Features features = tokens(example);
    if (options_.labelled) label(example, features);
    return {std::move(features)};
  }

 private:
  Features tokens(const Example& example) const {
    if (is_group()) return group(example);
    const std::string& prompt = options_.first_prompt;
    if (!example.token_ids.empty()) {
      if (prompt.empty()) return token_features(example, options_.max_seq_length);
      throw Error(Code::kBadData, "the row has token ids, and a prompt stands before texts only");
    }
    std::optional<std::string_view> pair;
    if (example.texts.size() > 1) pair = example.texts[1];
    Encoding encoding = tokenizer_.encode(prompt + example.texts[0], pair, options_.max_seq_length);
    return {.input_ids = std::move(encoding.input_ids),
            .token_type_ids = std::move(encoding.token_type_ids)};
  }

  bool is_group() const { return traits(options_.task).inputs == InputKind::kTextGroup; }

  // The sequences of a group: its texts or, where one network reads a query with each passage, the
  // pairs of the first text with each of the others.
  std::vector<Encoding> sequences(const std::vector<std::string>& texts) const {
    std::vector<Encoding> made;
    const bool are_pairs = pairs_with_first(options_.task);
    for (size_t i = are_pairs ? 1 : 0; i < texts.size(); ++i) {
      std::optional<std::string_view> passage;
      if (are_pairs) passage = texts[i];
      const std::string& prompt =
          i == 0 || are_pairs ? options_.first_prompt : options_.other_prompt;
      made.push_back(
          tokenizer_.encode(prompt + texts[are_pairs ? 0 : i], passage, options_.max_seq_length));
    }
    return made;
  }

  Features group(const Example& example) const {
    if (example.texts.size() < 2) {
      throw Error(Code::kBadData, "the row has token ids, and not two texts to compare");
    }
    Features features;
    const auto append = [](std::vector<int32_t>& to, const std::vector<int32_t>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (const Encoding& encoding : sequences(example.texts)) {
      append(features.input_ids, encoding.input_ids);
      append(features.token_type_ids, encoding.token_type_ids);
      features.ends.push_back(static_cast<int32_t>(features.input_ids.size()));
    }
    return features;
  }

  float similarity(double label) const {
    const double scaled = label / options_.max_similarity;
    if (options_.similarities_are_marks && scaled != 0 && scaled != 1) {
      throw Error(Code::kBadData,
                  cat("the label ", label, " is neither 0 nor ", options_.max_similarity), "",
                  "contrastive losses take no others; --similarity-loss cosent or cosine does");
    }
    if (std::abs(scaled) <= 1) return static_cast<float>(scaled);
    throw Error(Code::kBadData,
                cat("the similarity ", label, " is not from -", options_.max_similarity, " to ",
                    options_.max_similarity),
                "", "say by --max-similarity which label texts have that mean the same");
  }

  float relevance(float label) const {
    if (!options_.relevances_are_probabilities || (label >= 0 && label <= 1)) return label;
    throw Error(Code::kBadData, cat("the label ", label, " is not from 0 to 1"), "",
                "--reranking-loss mse learns other numbers");
  }

  float number(float score) const {
    if (ranks_passages(options_.task)) return relevance(score);
    return is_group() ? similarity(double{score}) : score;
  }

  void label(const Example& example, Features& features) const {
    features.weight = example.weight;
    switch (traits(options_.task).labels) {
      case LabelKind::kNumber:
        features.targets = {number(example.score)};
        return;
      case LabelKind::kSet:
        features.targets.assign(static_cast<size_t>(options_.num_classes), 0);
        for (const int32_t entry : example.labels) {
          features.targets[static_cast<size_t>(class_of(options_, entry))] = 1;
        }
        return;
      case LabelKind::kPlaceInBatch:  // the batch has it
        features.targets = example.text_scores;
        return;
      case LabelKind::kVector:
        return;  // it is no part of the example: Dataset::set_targets()
      default: {
        // Where a task has no classes, the label is the number of a text of the row.
        const int32_t entry = example.labels.at(0);
        features.classes = {traits(options_.task).has_classes ? class_of(options_, entry) : entry};
        features.weight *= class_weight(options_, features.classes[0]);
      }
    }
  }

  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
};

}  // namespace

std::unique_ptr<FeatureMaker> make_text_features(FeatureOptions options,
                                                 const Tokenizer& tokenizer) {
  return std::make_unique<TextFeatures>(std::move(options), tokenizer);
}

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
    if (options_.class_weights.empty()) return {std::move(features)};
    for (const int32_t label : features.classes) {
      features.token_weights.push_back(features.weight * class_weight(options_, label));
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
      // Special tokens have {0, 0}. A token of the space alone has an empty span at its word, where
      // spans are trimmed.
      const Span span = encoding.offsets[token];
      if (span.end == 0) continue;
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

namespace {

// Whether the first token of any word with a space before it is the space alone, by its span.
bool has_first_token(const ExampleTable& table, const Tokenizer& tokenizer, bool is_word,
                     const std::function<bool(const Span&)>& is_space) {
  if (!tokenizer.takes_no_space("")) return false;
  constexpr size_t kMostSeen = 1'000'000;
  std::unordered_set<std::string> seen;
  const auto has_space_token = [&](const std::string& word) {
    if (seen.size() < kMostSeen ? !seen.insert(word).second : seen.contains(word)) return false;
    const std::string text = " " + word;
    const size_t end = text.size();
    EncodeOptions options(1);
    options.add_special_tokens = false;
    options.with_offsets = true;
    if (is_word) options.word_ends = std::span(&end, 1);
    const std::vector<Span> spans = tokenizer.encode(text, std::nullopt, options).offsets;
    return !spans.empty() && is_space(spans[0]);
  };
  for (uint32_t row = 0; row < table.rows(); ++row) {
    if (std::ranges::any_of(table.read(row).texts, has_space_token)) return true;
  }
  return false;
}

}  // namespace

bool has_word_behind_space(const ExampleTable& table, const Tokenizer& tokenizer) {
  return has_first_token(table, tokenizer, /*is_word=*/true,
                         [](const Span& span) { return span.begin == span.end; });
}

bool has_word_behind_added_space(const ExampleTable& table, const Tokenizer& tokenizer) {
  return has_first_token(table, tokenizer, /*is_word=*/false,
                         [](const Span& span) { return span.end == 0; });
}

std::unique_ptr<FeatureMaker> make_word_features(FeatureOptions options,
                                                 const Tokenizer& tokenizer) {
  return std::make_unique<WordFeatures>(std::move(options), tokenizer);
}

namespace {

// The special tokens that a model puts before and behind a text.
struct SpecialTokens {
  std::vector<int32_t> before, behind;
};

// Finds them by encoding a text with and without them. A tokenizer without files throws when it is
// used; its rows hold token ids, so that nobody asks for the special tokens.
SpecialTokens special_tokens(const Tokenizer& tokenizer) {
  EncodeOptions whole(std::numeric_limits<int32_t>::max());
  EncodeOptions bare = whole;
  bare.add_special_tokens = false;
  const std::vector<int32_t> all = tokenizer.encode("a", std::nullopt, whole).input_ids;
  const std::vector<int32_t> text = tokenizer.encode("a", std::nullopt, bare).input_ids;
  const auto found = std::search(all.begin(), all.end(), text.begin(), text.end());
  if (found == all.end()) return {};
  const auto end = found + static_cast<std::ptrdiff_t>(text.size());
  return {.before = {all.begin(), found}, .behind = {end, all.end()}};
}

// The sequences of `room` tokens of a text each. Borrows `special`.
class DocumentSequences final : public RowFeatures {
 public:
  DocumentSequences(const SpecialTokens& special, std::vector<int32_t> ids, size_t room,
                    float weight)
      : special_(special), ids_(std::move(ids)), room_(room), weight_(weight) {}

  size_t size() const override { return std::max<size_t>(1, (ids_.size() + room_ - 1) / room_); }
  size_t tokens(size_t i) const override {
    return special_.before.size() + part(i).size() + special_.behind.size();
  }
  const Features& get(size_t i, Features& storage) const override {
    const std::span<const int32_t> text = part(i);
    storage.input_ids = special_.before;
    storage.input_ids.insert(storage.input_ids.end(), text.begin(), text.end());
    storage.input_ids.insert(storage.input_ids.end(), special_.behind.begin(),
                             special_.behind.end());
    storage.token_type_ids.assign(storage.input_ids.size(), 0);
    storage.weight = weight_;
    return storage;
  }
  size_t memory_bytes() const override {
    return sizeof *this + ids_.capacity() * sizeof(int32_t) + 2 * kHeapBytes;
  }

 private:
  static constexpr size_t kHeapBytes = 16;  // of each allocation: its header, and rounding

  std::span<const int32_t> part(size_t i) const {
    const size_t begin = std::min(i * room_, ids_.size());
    return std::span(ids_).subspan(begin, std::min(room_, ids_.size() - begin));
  }

  const SpecialTokens& special_;
  const std::vector<int32_t> ids_;
  const size_t room_;
  const float weight_;
};

class DocumentFeatures final : public FeatureMaker {
 public:
  DocumentFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  // What it returns borrows from this.
  std::unique_ptr<RowFeatures> plan(const Example& example) const override {
    if (!example.token_ids.empty()) return FeatureMaker::plan(example);
    std::call_once(once_, [&] { special_ = special_tokens(tokenizer_); });
    const size_t room = room_of(special_);
    EncodeOptions bare(std::numeric_limits<int32_t>::max());
    bare.add_special_tokens = false;
    std::vector<int32_t> ids = tokenizer_.encode(example.texts.at(0), std::nullopt, bare).input_ids;
    ids.shrink_to_fit();
    return std::make_unique<DocumentSequences>(special_, std::move(ids), room, example.weight);
  }

  std::vector<Features> make(const Example& example) const override {
    if (!example.token_ids.empty()) {
      Features features = token_features(example, options_.max_seq_length);
      features.ends = example.labels;  // of a block: join_documents()
      features.masked = example.masked;
      features.weight = example.weight;
      return {std::move(features)};
    }
    const std::unique_ptr<RowFeatures> sequences = plan(example);
    std::vector<Features> made(sequences->size());
    for (size_t i = 0; i < made.size(); ++i) sequences->get(i, made[i]);
    return made;
  }

 private:
  // The tokens of the text that fit into one sequence.
  size_t room_of(const SpecialTokens& special) const {
    const size_t around = special.before.size() + special.behind.size();
    const auto length = static_cast<size_t>(options_.max_seq_length);
    if (length > around) return length - around;
    throw Error(Code::kUsage,
                cat("the special tokens of a sequence take all of its ", length, " tokens"),
                "--max-seq-length", "raise it");
  }

  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
  mutable std::once_flag once_;
  mutable SpecialTokens special_;
};

}  // namespace

std::unique_ptr<FeatureMaker> make_document_features(FeatureOptions options,
                                                     const Tokenizer& tokenizer) {
  return std::make_unique<DocumentFeatures>(std::move(options), tokenizer);
}

namespace {

constexpr size_t kLongestQuestion = 64, kUsualStride = 128;

// Where the tokens of a context stand in a pair: [CLS] question [SEP] context [SEP], with the
// model's own special tokens.
struct ContextPlace {
  size_t behind = 0;  // special tokens behind the context
  int32_t type_id = 0;
};

// The tokens in each window around a part of the context.
struct Surroundings {
  std::vector<int32_t> ids, type_ids;
  size_t before = 0;  // the number of tokens before the part; the others are behind it
};

// The part of the context that an answer covers, in code points.
struct AnswerSpan {
  uint32_t begin, end;
};

template <typename Values>
auto at(Values& values, size_t place) {
  return values.begin() + static_cast<std::ptrdiff_t>(place);
}

// The windows of `room` tokens over a context. Each begins `step` tokens behind the one before it.
class AnswerWindows final : public RowFeatures {
 public:
  AnswerWindows(Surroundings around, std::shared_ptr<const ContextTokens> context, size_t room,
                size_t step)
      : around_(std::move(around)), context_(std::move(context)), room_(room), step_(step) {}

  // The type of the context's tokens.
  int32_t type_id = 0;
  bool is_first_with_context = true;  // no other windows count the memory of the context
  bool labelled = false;
  std::optional<AnswerSpan> answer{};  // none: the question has no answer
  float weight = 1;

  size_t size() const override {
    const size_t tokens = context_->ids.size();
    return tokens <= room_ ? 1 : 1 + (tokens - room_ + step_ - 1) / step_;
  }
  size_t tokens(size_t i) const override { return around_.ids.size() + end_of(i) - i * step_; }

  const Features& get(size_t i, Features& storage) const override {
    const size_t begin = i * step_, end = end_of(i), before = around_.before;
    storage.input_ids = spliced(around_.ids, context_->ids, begin, end);
    storage.token_type_ids = around_.type_ids;
    storage.token_type_ids.insert(at(storage.token_type_ids, before), end - begin, type_id);
    storage.context.assign(around_.ids.size(), Span());
    storage.context.insert(at(storage.context, before), at(context_->offsets, begin),
                           at(context_->offsets, end));
    storage.classes.clear();
    storage.weight = 1;
    if (labelled) label(storage);
    return storage;
  }

  size_t memory_bytes() const override {
    const size_t of_ids = around_.ids.capacity() + around_.type_ids.capacity();
    return sizeof *this + of_ids * sizeof(int32_t) +
           (is_first_with_context ? context_->memory_bytes() : 0);
  }

 private:
  size_t end_of(size_t i) const { return std::min(i * step_ + room_, context_->ids.size()); }

  std::vector<int32_t> spliced(const std::vector<int32_t>& around,
                               const std::vector<int32_t>& context, size_t begin,
                               size_t end) const {
    std::vector<int32_t> ids;
    ids.reserve(around.size() + end - begin);
    ids.insert(ids.end(), around.begin(), at(around, around_.before));
    ids.insert(ids.end(), at(context, begin), at(context, end));
    ids.insert(ids.end(), at(around, around_.before), around.end());
    return ids;
  }

  // Labels the window with the tokens of the answer, if it holds all of that answer.
  void label(Features& features) const {
    features.weight = weight;
    features.classes = {0, 0};
    if (!answer) return;
    int32_t first = -1, last = -1;
    for (size_t token = 0; token < features.context.size(); ++token) {
      const Span span = features.context[token];
      if (span.begin == span.end) continue;
      if (first < 0 && span.begin <= answer->begin && answer->begin < span.end) {
        first = static_cast<int32_t>(token);
      }
      if (span.begin < answer->end && answer->end <= span.end) last = static_cast<int32_t>(token);
    }
    if (first >= 0 && last >= first) features.classes = {first, last};
  }

  const Surroundings around_;
  const std::shared_ptr<const ContextTokens> context_;
  const size_t room_, step_;
};

EncodeOptions whole_text(bool add_special_tokens) {
  EncodeOptions options(std::numeric_limits<int32_t>::max());
  options.add_special_tokens = add_special_tokens;
  options.with_offsets = true;
  return options;
}

class AnswerFeatures final : public FeatureMaker {
 public:
  AnswerFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  std::unique_ptr<RowFeatures> plan(const Example& example) const override {
    const std::string& context = example.texts.at(1);
    const auto length = static_cast<size_t>(options_.max_seq_length);
    const ContextPlace place = place_of(context);
    Surroundings around = surroundings(example.texts.at(0), place, length);
    const size_t taken = around.ids.size(), room = length - std::min(length, taken);
    size_t stride = options_.doc_stride ? static_cast<size_t>(*options_.doc_stride)
                                        : std::min(kUsualStride, room / 2);
    if (options_.doc_step) stride = room - std::min(room, static_cast<size_t>(*options_.doc_step));
    if (stride >= room) {
      throw Error(Code::kUsage,
                  cat("a question takes ", taken, " of the ", length,
                      " tokens of --max-seq-length; the rest is no longer than --doc-stride ",
                      stride, ", so the window over the context cannot move"),
                  "", "raise --max-seq-length (384 is usual) or lower --doc-stride");
    }
    std::shared_ptr<const ContextTokens> tokens = contexts_.find(context);
    const bool is_new = tokens == nullptr;
    if (is_new) tokens = tokens_of(context);
    auto windows =
        std::make_unique<AnswerWindows>(std::move(around), std::move(tokens), room, room - stride);
    windows->type_id = place.type_id;
    windows->is_first_with_context = is_new;
    windows->labelled = options_.labelled;
    windows->weight = example.weight;
    if (!example.answers.empty()) {
      const Answer& answer = example.answers.front();
      windows->answer = {answer.start, answer.start + code_point_count(answer.text)};
    }
    return windows;
  }

  std::vector<Features> make(const Example& example) const override {
    const std::unique_ptr<RowFeatures> windows = plan(example);
    std::vector<Features> made(windows->size());
    for (size_t i = 0; i < made.size(); ++i) windows->get(i, made[i]);
    return made;
  }

  size_t memory_bytes() const override { return contexts_.memory_bytes(); }

 private:
  std::shared_ptr<const ContextTokens> tokens_of(const std::string& context) const {
    Encoding encoding = tokenizer_.encode(context, std::nullopt, whole_text(false));
    auto tokens = std::make_shared<ContextTokens>(
        ContextTokens{std::move(encoding.input_ids), std::move(encoding.offsets)});
    tokens->ids.shrink_to_fit();
    tokens->offsets.shrink_to_fit();
    contexts_.keep(context, tokens);
    return tokens;
  }

  // The place is the same for all contexts that have a token.
  ContextPlace place_of(const std::string& context) const {
    const std::lock_guard lock(mutex_);
    if (!place_) place_ = find_place("a");
    if (!place_) place_ = find_place(context);
    return place_.value_or(ContextPlace());
  }

  // The special tokens behind the context have empty offsets.
  std::optional<ContextPlace> find_place(const std::string& context) const {
    const Encoding empty = tokenizer_.encode("", "", whole_text(true));
    const Encoding pair = tokenizer_.encode("", context, whole_text(true));
    const size_t size = pair.input_ids.size(), tokens = size - empty.input_ids.size();
    if (tokens == 0) return std::nullopt;
    size_t end = size;
    while (end > tokens && pair.offsets[end - 1] == Span()) --end;
    return ContextPlace{.behind = size - end, .type_id = pair.token_type_ids[end - tokens]};
  }

  // Keeps only the first tokens of the question: as many as BERT's run_squad.py keeps, and at most
  // half of the length that special tokens leave.
  Surroundings surroundings(const std::string& question, const ContextPlace& place,
                            size_t length) const {
    Encoding alone = tokenizer_.encode(question, "", whole_text(true));
    const auto is_text = [&](size_t token) { return alone.offsets[token] != Span(); };
    const size_t tokens = alone.input_ids.size();
    size_t before = tokens - place.behind, begin = 0, end = before;
    while (begin < end && !is_text(begin)) ++begin;
    while (end > begin && !is_text(end - 1)) --end;
    const size_t special = tokens - (end - begin);
    const size_t most = std::min(kLongestQuestion, (length - std::min(length, special)) / 2);
    if (end - begin > most) {
      for (std::vector<int32_t>* values : {&alone.input_ids, &alone.token_type_ids}) {
        values->erase(at(*values, begin + most), at(*values, end));
      }
      before -= end - begin - most;
    }
    return {std::move(alone.input_ids), std::move(alone.token_type_ids), before};
  }

  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
  mutable RecentContexts contexts_;
  mutable std::mutex mutex_;
  mutable std::optional<ContextPlace> place_;
};

}  // namespace

std::unique_ptr<FeatureMaker> make_answer_features(FeatureOptions options,
                                                   const Tokenizer& tokenizer) {
  return std::make_unique<AnswerFeatures>(std::move(options), tokenizer);
}

}  // namespace berth
