#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/training/word_counts.h"

namespace berth {

// Called often while a vocabulary is made, which has `pieces` pieces by now and should have `goal`
// in the end. WordPiece and BPE add pieces to the characters, so the number grows. Unigram removes
// pieces from many candidates, so it falls. The vocabulary is done as soon as there are few enough
// candidates, or no frequent pairs, and not always at the goal. May be empty.
using OnPieces = std::function<void(size_t pieces, size_t goal)>;

enum class TokenizerType { kWordPiece, kBpe, kUnigram };

struct TokenizerTrainingOptions {
  TokenizerType type = TokenizerType::kWordPiece;
  int64_t vocab_size = 0;     // pieces with special tokens; 0: as many as the original model has
  int64_t min_frequency = 2;  // the fewest occurrences of a pair that is merged
  std::optional<bool> lowercase{};  // WordPiece only; empty: true
  WordCountLimits limits{};
};

// The size of the vocabulary that `options` ask for: 30,522 for WordPiece as in BERT (Devlin et al.
// 2018), 50,265 for byte-level BPE as in RoBERTa (Liu et al. 2019), 32,000 for unigram as in T5.
int64_t vocab_size_of(const TokenizerTrainingOptions& options);

struct TrainedTokenizer {
  std::vector<Tokenizer::File> files;  // load_tokenizer() and transformers load them
  int64_t vocab_size;                  // less than requested if the text has too few frequent pairs
  uint64_t distinct_words;
  TextStatistics text;
};

// Receives the progress of the training, from the thread that trains. An exception of its functions
// ends the training. Either may be empty.
struct TokenizerObserver {
  // All texts were read and their words counted.
  std::function<void(const TextStatistics& text, uint64_t distinct_words)> on_words{};
  OnPieces on_pieces{};
};

// Trains a tokenizer on the texts. The files are the same whatever the number of threads. Throws
// kBadData if the texts hold no word. Throws kUsage if the vocabulary is too small for the special
// tokens and the characters. Also throws kUsage if `lowercase` is set and the type has no lower
// case.
TrainedTokenizer train_tokenizer(const ReadTexts& read, const TokenizerTrainingOptions& options,
                                 ThreadPool& pool, const TokenizerObserver& observer = {});

}  // namespace berth
