#include <algorithm>
#include <string>
#include <utility>

#include "trainer/text/training/train_kinds.h"
#include "trainer/text/training/unigram_files.h"
#include "trainer/text/training/unigram_model.h"
#include "trainer/text/training/unigram_seeds.h"
#include "trainer/text/training/unigram_words.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

// The defaults of SentencePiece's trainer. It has no limit of words.
constexpr size_t kMostSeeds = 1'000'000;
constexpr size_t kMostTrainingWords = 1'000'000;
constexpr double kCharacterCoverage = 0.9995;
constexpr double kSurplus = 1.1;  // of the pieces that pruning leaves; the rarest are cut off
constexpr int kStepsBetweenPrunings = 2;
constexpr size_t kSpecialTokens = 5;

std::string utf8_of(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) {
    char encoded[4];
    bytes.append(encoded, encode_utf8(c, encoded));
  }
  return bytes;
}

bool is_better(const UnigramPiece& a, const UnigramPiece& b) {
  return a.score != b.score ? a.score > b.score : a.text < b.text;
}

// The alphabet and the best of the other pieces, best first.
std::vector<std::pair<std::string, double>> best_pieces(std::vector<UnigramPiece> pieces,
                                                        size_t alphabet, size_t most) {
  std::sort(pieces.begin() + static_cast<ptrdiff_t>(alphabet), pieces.end(), is_better);
  pieces.resize(std::min(pieces.size(), most));
  std::sort(pieces.begin(), pieces.end(), is_better);
  std::vector<std::pair<std::string, double>> best;
  for (const UnigramPiece& piece : pieces) best.emplace_back(utf8_of(piece.text), piece.score);
  return best;
}

}  // namespace

TrainedVocabulary train_unigram(ShardedWordTable counted, const TokenizerTrainingOptions& options,
                                ThreadPool& pool, const OnPieces& on_pieces) {
  const UnigramWords words =
      unigram_words(std::move(counted), kMostTrainingWords, kCharacterCoverage);
  require_room(vocab_size_of(options), kSpecialTokens, words.alphabet.size());
  const size_t most = static_cast<size_t>(vocab_size_of(options)) - kSpecialTokens;
  const auto desired = static_cast<size_t>(static_cast<double>(vocab_size_of(options)) * kSurplus);
  UnigramModel model(words, unigram_seeds(words, kMostSeeds), pool);
  while (true) {
    for (int i = 0; i < kStepsBetweenPrunings; ++i) {
      if (on_pieces) on_pieces(model.pieces().size(), static_cast<size_t>(vocab_size_of(options)));
      model.improve();
    }
    const size_t before = model.pieces().size();
    if (before <= desired) break;
    model.prune(desired);
    if (model.pieces().size() == before) break;
  }
  const auto best = best_pieces(model.pieces(), words.alphabet.size(), most);
  return {unigram_files(best), static_cast<int64_t>(best.size() + kSpecialTokens)};
}

}  // namespace berth
