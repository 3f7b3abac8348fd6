#include "trainer/text/training/tokenizer_trainer.h"

#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/training/train_kinds.h"
#include "trainer/text/training/word_counts.h"
#include "trainer/text/word_model.h"

namespace berth {

namespace {

std::unique_ptr<TrainingWords> words_of(const TokenizerTrainingOptions& options) {
  switch (options.type) {
    case TokenizerType::kBpe:
      return byte_level_training_words();
    case TokenizerType::kUnigram:
      return unigram_training_words();
    case TokenizerType::kWordPiece:
      break;
  }
  const bool lowercase = options.lowercase.value_or(true);
  return bert_training_words({.strip_accents = lowercase, .lowercase = lowercase},
                             WordPieceOptions().max_input_chars_per_word);
}

TrainedVocabulary train_on(ShardedWordTable words, const TokenizerTrainingOptions& options,
                           ThreadPool& pool, const OnPieces& on_pieces) {
  switch (options.type) {
    case TokenizerType::kBpe:
      return train_byte_level(std::move(words), options, on_pieces);
    case TokenizerType::kUnigram:
      return train_unigram(std::move(words), options, pool, on_pieces);
    case TokenizerType::kWordPiece:
      break;
  }
  return train_wordpiece(std::move(words), options, on_pieces);
}

}  // namespace

int64_t vocab_size_of(const TokenizerTrainingOptions& options) {
  if (options.vocab_size > 0) return options.vocab_size;
  switch (options.type) {
    case TokenizerType::kWordPiece:
      return 30'522;
    case TokenizerType::kBpe:
      return 50'265;
    case TokenizerType::kUnigram:
      break;
  }
  return 32'000;
}

void require_room(int64_t vocab_size, size_t num_special, size_t num_characters) {
  const auto least = static_cast<int64_t>(num_special + num_characters);
  if (vocab_size >= least) return;
  throw Error(Code::kUsage,
              cat(vocab_size, " pieces are too few: the ", num_special, " special tokens and the ",
                  num_characters, " pieces of single characters are ", least),
              "--vocab-size", cat("give at least ", least));
}

TrainedTokenizer train_tokenizer(const ReadTexts& read, const TokenizerTrainingOptions& options,
                                 ThreadPool& pool, const TokenizerObserver& observer) {
  if (options.type != TokenizerType::kWordPiece && options.lowercase.value_or(false)) {
    throw Error(Code::kUsage, "only wordpiece makes text lower case", "--do-lower-case",
                "leave this flag out, or use --tokenizer-type wordpiece");
  }
  TrainedTokenizer trained;
  ShardedWordTable words =
      count_words(read, *words_of(options), pool, trained.text, options.limits);
  trained.distinct_words = words.size();
  if (words.size() == 0) {
    throw Error(Code::kBadData, "the texts hold no word to train a tokenizer on", "",
                "give files with text");
  }
  if (observer.on_words) observer.on_words(trained.text, trained.distinct_words);
  TrainedVocabulary vocabulary = train_on(std::move(words), options, pool, observer.on_pieces);
  trained.files = std::move(vocabulary.files);
  trained.vocab_size = vocabulary.size;
  return trained;
}

}  // namespace berth
