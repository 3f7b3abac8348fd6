#include "trainer/data/sentence_pairs.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/philox.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr uint32_t kTrainingPairs = 0x70616972;  // no dropout site and no masking has these numbers
constexpr uint32_t kEvaluationPairs = 0x70616973;
constexpr uint32_t kNoDocument = 0xffffffff;

}  // namespace

// Random numbers of one document in a pass, or of the truncation of one of its pairs.
class SentencePairs::Draws {
 public:
  Draws(const std::array<uint32_t, 2>& key, uint32_t place, uint32_t lap, uint32_t stream = 0)
      : key_(key), place_(place), lap_(lap), stream_(stream) {}

  // From 0 to 1, without 1.
  double share() { return next() * 0x1p-32; }
  // A whole number below `size`. Its bias is below size / 2^32.
  uint32_t below(uint64_t size) { return static_cast<uint32_t>(uint64_t{next()} * size >> 32); }

 private:
  uint32_t next() {
    if (left_ == 0) {
      words_ = philox4x32({place_, lap_, stream_, count_++}, key_);
      left_ = words_.size();
    }
    return words_[words_.size() - left_--];
  }

  const std::array<uint32_t, 2> key_;
  const uint32_t place_, lap_, stream_;
  uint32_t count_ = 0;
  size_t left_ = 0;
  std::array<uint32_t, 4> words_{};
};

SentencePairs::SentencePairs(const Options& options, std::span<const uint32_t> lengths,
                             std::span<const uint32_t> first_sentence)
    : options_(options), lengths_(lengths), first_sentence_(first_sentence) {
  bool has_two = false;
  for (uint32_t document = 0; document + 1 < first_sentence.size(); ++document) {
    if (sentences(document) > 0) documents_.push_back(document);
    has_two = has_two || sentences(document) > 1;
  }
  constexpr const char* kHint =
      "give a sentence on each line, and a blank line between documents; --task mlm needs neither";
  if (documents_.size() < 2) {
    throw Error(Code::kBadData,
                "there are fewer than two documents, so no sentence can come from another one", "",
                kHint);
  }
  if (!has_two) {
    throw Error(Code::kBadData,
                "every document is one sentence, so no second sentence follows a first one", "",
                kHint);
  }
  size_ = std::numeric_limits<int64_t>::max();
  begin(MaskingRound::of_evaluation());
}

void SentencePairs::begin(const MaskingRound& round) {
  const bool is_same = round.trains == round_.trains && round.epoch == round_.epoch;
  if (has_begun_ && is_same) return;
  const bool finds_size = !std::exchange(has_begun_, true);
  round_ = round;
  key_ = round.trains
             ? philox_key(options_.seed, static_cast<uint64_t>(round.epoch), kTrainingPairs)
             : philox_key(0, 0, kEvaluationPairs);
  offset_ = round.trains ? Draws(key_, kNoDocument, 0).below(documents_.size()) : 0;
  made_slot_ = SIZE_MAX;
  first_pair_.clear();
  int64_t pairs = 0;
  for (size_t number = 0; pairs < size_; ++number) {
    if (finds_size && number == documents_.size()) break;
    first_pair_.push_back(pairs);
    make(slot(number), counted_);
    pairs += std::ssize(counted_);
  }
  if (finds_size) size_ = pairs;
}

SentencePairs::Slot SentencePairs::slot(size_t number) const {
  const size_t all = documents_.size();
  return {.place = static_cast<uint32_t>((offset_ + number) % all),
          .lap = static_cast<uint32_t>(number / all)};
}

size_t SentencePairs::slot_of(int64_t index) const {
  return static_cast<size_t>(std::ranges::upper_bound(first_pair_, index) - first_pair_.begin()) -
         1;
}

uint32_t SentencePairs::document(int64_t index) const {
  return documents_[slot(slot_of(index)).place];
}

const SentencePair& SentencePairs::pair(int64_t index) {
  const size_t number = slot_of(index);
  if (number != made_slot_) {
    const Slot found = slot(number);
    make(found, made_);
    for (size_t i = 0; i < made_.size(); ++i) {
      Draws draws(key_, found.place, found.lap, static_cast<uint32_t>(i) + 1);
      truncate(made_[i], draws);
    }
    made_slot_ = number;
  }
  return made_[static_cast<size_t>(index - first_pair_[number])];
}

int64_t SentencePairs::tokens(const SentenceRun& run) const {
  int64_t sum = -int64_t{run.cut_front} - int64_t{run.cut_back};
  for (uint32_t i = run.begin; i < run.end; ++i) sum += lengths_[first_sentence_[run.document] + i];
  return sum;
}

// The pairs of a document, before they are truncated.
void SentencePairs::make(Slot slot, std::vector<SentencePair>& pairs) const {
  pairs.clear();
  const uint32_t document = documents_[slot.place], count = sentences(document);
  Draws draws(key_, slot.place, slot.lap);
  int64_t target = options_.most_tokens;
  if (draws.share() < options_.short_share) {
    target = 2 + draws.below(static_cast<uint64_t>(options_.most_tokens) - 1);
  }
  uint32_t begin = 0;
  int64_t length = 0;
  for (uint32_t i = 0; i < count; ++i) {
    length += lengths_[first_sentence_[document] + i];
    if (i + 1 < count && length < target) continue;
    const uint32_t chunk = i + 1 - begin;
    const uint32_t of_first = chunk >= 2 ? 1 + draws.below(chunk - 1) : 1;
    SentencePair pair;
    pair.first = {.document = document, .begin = begin, .end = begin + of_first};
    pair.is_negative = chunk == 1 || draws.share() < options_.negative_share;
    if (pair.is_negative && (chunk == 1 || !options_.swaps)) {
      pair.second = from_elsewhere(slot.place, target - tokens(pair.first), draws);
      i -= chunk - of_first;  // these sentences are taken again
    } else {
      pair.second = {.document = document, .begin = begin + of_first, .end = i + 1};
      if (pair.is_negative) std::swap(pair.first, pair.second);
    }
    pairs.push_back(pair);
    begin = i + 1;
    length = 0;
  }
}

// Sentences of another document, from one that is drawn until they have `wanted` tokens.
SentenceRun SentencePairs::from_elsewhere(uint32_t place, int64_t wanted, Draws& draws) const {
  uint32_t other = draws.below(documents_.size() - 1);
  if (other >= place) ++other;
  SentenceRun run{.document = documents_[other]};
  const uint32_t count = sentences(run.document);
  run.begin = run.end = draws.below(count);
  int64_t taken = 0;
  do {
    taken += lengths_[first_sentence_[run.document] + run.end++];
  } while (run.end < count && taken < wanted);
  return run;
}

void SentencePairs::truncate(SentencePair& pair, Draws& draws) const {
  int64_t first = tokens(pair.first), second = tokens(pair.second);
  while (first + second > options_.most_tokens) {
    const bool is_first = first > second;
    SentenceRun& run = is_first ? pair.first : pair.second;
    ++(draws.share() < 0.5 ? run.cut_front : run.cut_back);
    --(is_first ? first : second);
  }
}

size_t SentencePairs::memory_bytes() const {
  return documents_.capacity() * sizeof(uint32_t) + first_pair_.capacity() * sizeof(int64_t) +
         (made_.capacity() + counted_.capacity()) * sizeof(SentencePair);
}

std::unique_ptr<PairMaker> FeatureMaker::pairs(std::span<const uint32_t>,
                                               std::span<const uint32_t>) const {
  return nullptr;
}

namespace {

// The sentences of a document.
class Sentences final : public RowFeatures {
 public:
  Sentences(std::vector<int32_t> ids, std::vector<uint32_t> ends)
      : ids_(std::move(ids)), ends_(std::move(ends)) {}

  size_t size() const override { return ends_.size(); }
  size_t tokens(size_t i) const override { return ends_[i] - begin(i); }
  const Features& get(size_t i, Features& storage) const override {
    storage = {};
    storage.input_ids.assign(ids_.begin() + begin(i), ids_.begin() + ends_[i]);
    storage.token_type_ids.assign(storage.input_ids.size(), 0);
    return storage;
  }
  size_t memory_bytes() const override {
    return sizeof *this + (ids_.capacity() + ends_.capacity()) * sizeof(int32_t) + 2 * kHeapBytes;
  }

 private:
  static constexpr size_t kHeapBytes = 16;  // of each allocation: its header, and rounding

  uint32_t begin(size_t i) const { return i == 0 ? 0 : ends_[i - 1]; }

  const std::vector<int32_t> ids_;
  const std::vector<uint32_t> ends_;
};

EncodeOptions without_special_tokens() {
  EncodeOptions bare(std::numeric_limits<int32_t>::max());
  bare.add_special_tokens = false;
  return bare;
}

// Finds the frame by encoding a pair with and without special tokens.
PairFrame frame_of(const Tokenizer& tokenizer) {
  const Encoding all =
      tokenizer.encode("a", "a", EncodeOptions(std::numeric_limits<int32_t>::max()));
  const std::vector<int32_t> text =
      tokenizer.encode("a", std::nullopt, without_special_tokens()).input_ids;
  const auto begin = all.input_ids.begin(), end = all.input_ids.end();
  const auto size = std::ssize(text);
  const auto first = std::search(begin, end, text.begin(), text.end());
  const auto second = first == end ? end : std::search(first + size, end, text.begin(), text.end());
  if (first == begin || second == end) {
    throw Error(Code::kBadData, "the tokenizer puts no token before a pair of texts", "",
                "give a BERT's tokenizer");
  }
  const auto ids = [](auto from, auto to) { return std::vector<int32_t>(from, to); };
  const auto types = [&](auto from, auto to) {
    const auto at = all.token_type_ids.begin();
    return std::vector<int32_t>(at + (from - begin), at + (to - begin));
  };
  return {.before = ids(begin, first),
          .between = ids(first + size, second),
          .behind = ids(second + size, end),
          .before_types = types(begin, first),
          .between_types = types(first + size, second),
          .behind_types = types(second + size, end),
          .first_type = all.token_type_ids[static_cast<size_t>(first - begin)],
          .second_type = all.token_type_ids[static_cast<size_t>(second - begin)]};
}

class SentenceFeatures final : public FeatureMaker {
 public:
  SentenceFeatures(FeatureOptions options, const Tokenizer& tokenizer)
      : options_(std::move(options)), tokenizer_(tokenizer) {}

  std::unique_ptr<RowFeatures> plan(const Example& example) const override {
    if (!example.token_ids.empty()) return FeatureMaker::plan(example);
    std::vector<int32_t> ids;
    std::vector<uint32_t> ends;
    for (const std::string& line : parted(example.texts.at(0), "\r\n")) {
      const std::vector<int32_t> sentence =
          tokenizer_.encode(trimmed(line), std::nullopt, without_special_tokens()).input_ids;
      if (sentence.empty()) continue;
      ids.insert(ids.end(), sentence.begin(), sentence.end());
      ends.push_back(static_cast<uint32_t>(ids.size()));
    }
    ids.shrink_to_fit();
    ends.shrink_to_fit();
    return std::make_unique<Sentences>(std::move(ids), std::move(ends));
  }

  std::vector<Features> make(const Example& example) const override {
    if (!example.token_ids.empty()) {
      Features features = token_features(example, options_.max_seq_length);
      features.classes = example.labels;
      features.masked = example.masked;
      return {std::move(features)};
    }
    const std::unique_ptr<RowFeatures> sentences = plan(example);
    std::vector<Features> made(sentences->size());
    for (size_t i = 0; i < made.size(); ++i) sentences->get(i, made[i]);
    return made;
  }

  std::unique_ptr<PairMaker> pairs(std::span<const uint32_t> lengths,
                                   std::span<const uint32_t> first) const override {
    if (!options_.labelled) return nullptr;
    PairFrame frame = frame_of(tokenizer_);
    const auto taken = static_cast<int64_t>(frame.size());
    constexpr int64_t kLeast = 2;  // a token of each text
    if (options_.max_seq_length < taken + kLeast) {
      throw Error(Code::kUsage,
                  cat("a pair of texts has at least ", taken + kLeast, " tokens, ", taken,
                      " of them special"),
                  "--max-seq-length", "raise it");
    }
    const SentencePairs::Options options{.most_tokens = options_.max_seq_length - taken,
                                         .swaps = options_.task == Task::kSentenceOrder,
                                         .seed = options_.seed};
    return std::make_unique<PairMaker>(
        PairMaker{.frame = std::move(frame), .pairs = SentencePairs(options, lengths, first)});
  }

 private:
  const FeatureOptions options_;
  const Tokenizer& tokenizer_;
};

}  // namespace

std::unique_ptr<FeatureMaker> make_sentence_features(FeatureOptions options,
                                                     const Tokenizer& tokenizer) {
  return std::make_unique<SentenceFeatures>(std::move(options), tokenizer);
}

}  // namespace berth
