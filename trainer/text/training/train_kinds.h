#pragma once

#include <cstdint>
#include <vector>

#include "trainer/text/tokenizer.h"
#include "trainer/text/training/merge_pairs.h"
#include "trainer/text/training/tokenizer_trainer.h"
#include "trainer/text/training/word_counts.h"

namespace berth {

// The vocabulary of one type of tokenizer, and its files.
struct TrainedVocabulary {
  std::vector<Tokenizer::File> files;
  int64_t size;
};

// Train a tokenizer of their type on counted words, which they use up. They throw what
// train_tokenizer() promises.
TrainedVocabulary train_wordpiece(ShardedWordTable words, const TokenizerTrainingOptions& options,
                                  const OnPieces& on_pieces);
TrainedVocabulary train_byte_level(ShardedWordTable words, const TokenizerTrainingOptions& options,
                                   const OnPieces& on_pieces);
TrainedVocabulary train_unigram(ShardedWordTable words, const TokenizerTrainingOptions& options,
                                ThreadPool& pool, const OnPieces& on_pieces);

// Throws kUsage if a vocabulary of `vocab_size` cannot hold the pieces that must be in it:
// `num_special` special tokens and `num_characters` pieces of one character.
void require_room(int64_t vocab_size, size_t num_special, size_t num_characters);

}  // namespace berth
