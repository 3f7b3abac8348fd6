#include "trainer/text/training/training_words.h"

#include "trainer/text/byte_level.h"
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
      uint64_t hash = WordPiece::kHashSeed;
      for (const char byte : word) hash = WordPiece::hash_step(hash, byte);
      table.add(word, hash);
    }
    return left_out;
  }
};

}  // namespace

std::unique_ptr<TrainingWords> bert_training_words(const NormalizerOptions& options,
                                                   size_t max_chars) {
  return std::make_unique<BertTrainingWords>(options, max_chars);
}

std::unique_ptr<TrainingWords> byte_level_training_words() {
  return std::make_unique<ByteLevelTrainingWords>();
}

}  // namespace berth
