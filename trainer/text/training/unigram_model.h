#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/text/training/unigram_lattices.h"
#include "trainer/text/training/unigram_seeds.h"
#include "trainer/text/training/unigram_words.h"

namespace berth {

// A unigram model in training (Kudo 2018, arXiv:1804.10959): pieces, their probabilities, and the
// ways to put the words together from them. The steps are the same as in SentencePiece's trainer.
// Counts are summed as integers, so that no result depends on the number of threads. Not
// thread-safe.
class UnigramModel {
 public:
  // The first `words.alphabet.size()` pieces are single characters, which are never removed.
  UnigramModel(const UnigramWords& words, std::vector<UnigramPiece> pieces, ThreadPool& pool);

  // One step of expectation maximization. A piece is removed if it is expected fewer than 0.5
  // times. The probabilities have a sparse Dirichlet prior: digamma functions stand for logarithms.
  void improve();

  // Removes the pieces without which the words would lose the least probability, a quarter of them
  // at most, and leaves at least `fewest` pieces. A piece is never needed if others put it together
  // more probably.
  void prune(size_t fewest);

  const std::vector<UnigramPiece>& pieces() const { return pieces_; }

 private:
  std::vector<uint64_t> expected_counts();
  std::vector<uint64_t> best_counts();
  std::vector<double> scores() const;
  void keep(const std::vector<bool>& kept);
  // Adds up counts of pieces on all threads: count(word, counts) adds the pieces of one word.
  template <typename Count>
  std::vector<uint64_t> count_pieces(Count count);

  const std::vector<uint64_t>& word_counts_;
  const size_t num_characters_;
  std::vector<UnigramPiece> pieces_;
  UnigramLattices words_;   // of the words
  UnigramLattices itself_;  // of the pieces
  ThreadPool& pool_;
};

}  // namespace berth
