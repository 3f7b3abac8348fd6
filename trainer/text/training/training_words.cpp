#include "trainer/text/training/training_words.h"

#include <utility>

#include "trainer/text/byte_level.h"
#include "trainer/text/training/unigram_files.h"
#include "trainer/text/word_splitter.h"

namespace berth {

namespace {

constexpr size_t kMostBytes = 1024;

class BertTrainingWords final : public TrainingWords {
 public:
  BertTrainingWords(const NormalizerOptions& options, size_t max_chars)
      : normalizer_(options), max_chars_(max_chars) {}

  uint64_t add(std::string_view row, ShardedWordTable& table) const override {
    uint64_t left_out = 0;
    WordCollector words(max_chars_, [&](std::string_view word, size_t num_chars, uint64_t hash) {
      if (num_chars <= max_chars_) {
        table.add(word, hash);
      } else {
        ++left_out;
      }
      return true;
    });
    normalizer_.normalize(row, words);
    words.end_word();
    return left_out;
  }

 private:
  const Normalizer normalizer_;
  const size_t max_chars_;
};

uint64_t hash_of(std::string_view word) {
  uint64_t hash = WordPiece::kHashSeed;
  for (const char byte : word) hash = WordPiece::hash_step(hash, byte);
  return hash;
}

class ByteLevelTrainingWords final : public TrainingWords {
 public:
  uint64_t add(std::string_view row, ShardedWordTable& table) const override {
    uint64_t left_out = 0;
    for (size_t begin = 0; begin < row.size();) {
      const size_t end = byte_level_word_end(row, begin);
      const std::string_view word = row.substr(begin, end - begin);
      begin = end;
      if (word.size() > kMostBytes) {
        ++left_out;
        continue;
      }
      table.add(word, hash_of(word));
    }
    return left_out;
  }
};

class UnigramTrainingWords final : public TrainingWords {
 public:
  uint64_t add(std::string_view row, ShardedWordTable& table) const override {
    AlignedText normalized(row, 0, /*aligned=*/false);
    normalize_(normalized);
    SplitText text(std::move(normalized));
    split_(text);
    uint64_t left_out = 0;
    std::string last;
    for (const Span& span : text.words) {
      std::string_view word = text.word(span);
      if (&span == &text.words.back()) word = last = std::string(word) + kRowEndByte;
      if (word.size() > kMostBytes) {
        ++left_out;
      } else {
        table.add(word, hash_of(word));
      }
    }
    return left_out;
  }

 private:
  const NormalizationStep normalize_ = unigram_normalization();
  const SplitStep split_ = unigram_splitting();
};

}  // namespace

std::unique_ptr<TrainingWords> bert_training_words(const NormalizerOptions& options,
                                                   size_t max_chars) {
  return std::make_unique<BertTrainingWords>(options, max_chars);
}

std::unique_ptr<TrainingWords> byte_level_training_words() {
  return std::make_unique<ByteLevelTrainingWords>();
}

std::unique_ptr<TrainingWords> unigram_training_words() {
  return std::make_unique<UnigramTrainingWords>();
}

}  // namespace berth
