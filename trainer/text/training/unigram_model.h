#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/text/training/word_counts.h"

namespace berth {

// What follows a word: a space, the end of the row, or something that no piece contains.
enum class Follower : uint8_t { kSpace, kRowEnd, kOther };

// The words that a unigram model is trained on, as code points, one after the other.
struct UnigramWords {
  std::u32string characters;
  std::vector<uint64_t> ends;       // where each word ends in `characters`
  std::vector<uint64_t> counts;     // how often each word occurs
  std::vector<Follower> followers;  // what follows each word
  std::vector<char32_t> alphabet;   // the characters that must be pieces, the most frequent first

  size_t size() const { return ends.size(); }
  // A word occurs several times if different things follow it.
  std::u32string_view word(size_t i) const {
    const uint64_t begin = i == 0 ? 0 : ends[i - 1];
    return std::u32string_view(characters).substr(begin, ends[i] - begin);
  }
};

// The longest piece, and the longest word that is trained on, in characters.
inline constexpr size_t kLongestPiece = 16, kLongestWord = 48;

// Takes the most frequent words of `words`, at most `most`. The alphabet is the smallest set of
// most frequent characters that cover `coverage` of all occurrences of characters (as in
// SentencePiece). Words are cut where another character stands, and after kLongestWord characters.
// The order of the words does not depend on the order of `words`.
UnigramWords unigram_words(ShardedWordTable words, size_t most, double coverage);

// Whether a unigram model may have this piece: it has at most kLongestPiece characters, a space
// sign (U+2581) only at its beginning, and characters of one script besides.
bool is_unigram_piece(std::u32string_view piece);

// A piece of a unigram model and the logarithm of its probability.
struct UnigramPiece {
  std::u32string text;
  double score;
};

// The pieces with which training begins: the alphabet, and then the `most` best substrings of the
// words. A substring of words counts if it occurs at least twice and if different characters follow
// it. A space and the end of a row are characters here. The more characters its occurrences cover,
// the better is a substring. Such substrings are the inner nodes of a suffix tree (Abouelhoda et
// al. 2004), as in SentencePiece (Kudo and Richardson 2018). The scores are logarithms of the
// shares of covered characters.
std::vector<UnigramPiece> unigram_seeds(const UnigramWords& words, size_t most);

// All ways to put texts together from pieces: for each text, the places where a piece stands.
// Texts have at most 255 characters. Reading is thread-safe.
class UnigramLattices {
 public:
  struct Arc {
    uint8_t begin, end;  // in characters of the text
    int32_t piece;
  };

  // Appends a text. The pieces are found in `ids`.
  void add(std::u32string_view text, const std::unordered_map<std::u32string_view, int32_t>& ids);

  // Renumbers the pieces: piece i becomes new_ids[i], and its arcs are removed if that is -1.
  void renumber(const std::vector<int32_t>& new_ids);
  // For lattices of the pieces' own texts. Renumbers the pieces and the texts: text i becomes text
  // new_ids[i]. The new ids of the pieces that stay must be 0, 1, ... in order.
  void keep_texts(const std::vector<int32_t>& new_ids);

  size_t size() const { return ends_.size(); }
  uint8_t length(size_t text) const { return lengths_[text]; }
  // The arcs of a text, by where they begin and then by where they end.
  const Arc* begin(size_t text) const { return arcs_.data() + (text == 0 ? 0 : ends_[text - 1]); }
  const Arc* end(size_t text) const { return arcs_.data() + ends_[text]; }

  // Finds the most probable way to put a text together, without the arc of piece `without` (-1:
  // with all). Appends its pieces to `path`, last first. Returns the sum of their scores, or minus
  // infinity if there is no way.
  double best_path(size_t text, const std::vector<double>& scores, int32_t without,
                   std::vector<int32_t>& path) const;

 private:
  std::vector<Arc> arcs_;
  std::vector<uint64_t> ends_;  // of each text's arcs
  std::vector<uint8_t> lengths_;
};

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
