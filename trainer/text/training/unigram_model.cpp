#include "trainer/text/training/unigram_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace berth {

namespace {

constexpr double kShrinkingFactor = 0.75;
constexpr double kFewestExpected = 0.5;
// Expected counts are integers in units of 2^-24.
constexpr double kUnit = 1 << 24;
// Probabilities are multiplied by e^3 for each character, so that the probabilities of long words
// do not become zero. This changes all ways to put a word together by the same factor.
constexpr double kCharacterScale = 3;

double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  x -= 0.5;
  const double xx = 1 / x, xx2 = xx * xx, xx4 = xx2 * xx2;
  return result + std::log(x) + xx2 / 24 - 7.0 / 960 * xx4 + 31.0 / 8064 * xx4 * xx2 -
         127.0 / 30720 * xx4 * xx4;
}

}  // namespace

UnigramModel::UnigramModel(const UnigramWords& words, std::vector<UnigramPiece> pieces,
                           ThreadPool& pool)
    : word_counts_(words.counts),
      num_characters_(words.alphabet.size()),
      pieces_(std::move(pieces)),
      pool_(pool) {
  std::unordered_map<std::u32string_view, int32_t> ids;
  ids.reserve(pieces_.size());
  for (size_t i = 0; i < pieces_.size(); ++i) {
    ids.emplace(pieces_[i].text, static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < words.size(); ++i) words_.add(words.word(i), ids);
  for (const UnigramPiece& piece : pieces_) itself_.add(piece.text, ids);
}

std::vector<double> UnigramModel::scores() const {
  std::vector<double> scores;
  scores.reserve(pieces_.size());
  for (const UnigramPiece& piece : pieces_) scores.push_back(piece.score);
  return scores;
}

template <typename Count>
std::vector<uint64_t> UnigramModel::count_pieces(Count count) {
  std::vector<std::vector<uint64_t>> parts(static_cast<size_t>(pool_.size()));
  pool_.parallel_for(static_cast<int64_t>(words_.size()), 1024,
                     [&](int64_t begin, int64_t end, int thread) {
                       std::vector<uint64_t>& part = parts[static_cast<size_t>(thread)];
                       part.assign(pieces_.size(), 0);
                       for (int64_t i = begin; i < end; ++i) count(static_cast<size_t>(i), part);
                     });
  std::vector<uint64_t> total(pieces_.size(), 0);
  for (const std::vector<uint64_t>& part : parts) {
    for (size_t i = 0; i < part.size(); ++i) total[i] += part[i];
  }
  return total;
}

// The forward-backward algorithm over the lattice of each word.
std::vector<uint64_t> UnigramModel::expected_counts() {
  std::vector<double> probabilities;
  probabilities.reserve(pieces_.size());
  for (const UnigramPiece& piece : pieces_) {
    probabilities.push_back(
        std::exp(piece.score + kCharacterScale * static_cast<double>(piece.text.size())));
  }
  return count_pieces([&](size_t word, std::vector<uint64_t>& counts) {
    std::array<double, kLongestWord + 1> forward{}, backward{};
    const uint8_t size = words_.length(word);
    const UnigramLattices::Arc *first = words_.begin(word), *last = words_.end(word);
    forward[0] = backward[size] = 1;
    for (const auto* arc = first; arc != last; ++arc) {
      forward[arc->end] += forward[arc->begin] * probabilities[static_cast<size_t>(arc->piece)];
    }
    for (const auto* arc = last; arc-- != first;) {
      backward[arc->begin] += backward[arc->end] * probabilities[static_cast<size_t>(arc->piece)];
    }
    if (!(forward[size] > 0) || !std::isfinite(forward[size])) return;
    const double scale = kUnit * static_cast<double>(word_counts_[word]) / forward[size];
    for (const auto* arc = first; arc != last; ++arc) {
      const auto piece = static_cast<size_t>(arc->piece);
      const double expected =
          forward[arc->begin] * probabilities[piece] * backward[arc->end] * scale;
      counts[piece] += static_cast<uint64_t>(expected + 0.5);
    }
  });
}

std::vector<uint64_t> UnigramModel::best_counts() {
  const std::vector<double> known = scores();
  return count_pieces([&](size_t word, std::vector<uint64_t>& counts) {
    thread_local std::vector<int32_t> path;
    path.clear();
    words_.best_path(word, known, -1, path);
    for (const int32_t piece : path) counts[static_cast<size_t>(piece)] += word_counts_[word];
  });
}

void UnigramModel::improve() {
  const std::vector<uint64_t> counts = expected_counts();
  std::vector<bool> kept(pieces_.size());
  double total = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const double expected = static_cast<double>(counts[i]) / kUnit;
    kept[i] = i < num_characters_ || expected >= kFewestExpected;
    if (!kept[i]) continue;
    pieces_[i].score = std::max(expected, kFewestExpected);
    total += pieces_[i].score;
  }
  keep(kept);
  const double log_total = digamma(total);
  for (UnigramPiece& piece : pieces_) piece.score = digamma(piece.score) - log_total;
}

void UnigramModel::prune(size_t fewest) {
  const std::vector<uint64_t> counts = best_counts();
  const std::vector<double> known = scores();
  double total = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  std::vector<std::pair<double, size_t>> losses;
  std::vector<bool> kept(pieces_.size(), false);
  size_t num_kept = 0;
  std::vector<int32_t> others;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    others.clear();
    const double without = itself_.best_path(i, known, static_cast<int32_t>(i), others);
    if (i < num_characters_ || others.empty()) {
      kept[i] = true;
      ++num_kept;
      continue;
    }
    if (without >= known[i] || counts[i] == 0) continue;
    // The occurrences of the piece would become occurrences of the others.
    const auto count = static_cast<double>(counts[i]);
    const double total_after = total + count * static_cast<double>(others.size() - 1);
    double after = 0;
    for (const int32_t other : others) {
      after += std::log(static_cast<double>(counts[static_cast<size_t>(other)]) + count) -
               std::log(total_after);
    }
    losses.emplace_back(count * (std::log(count) - std::log(total) - after), i);
  }
  std::sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  const auto most =
      std::max(fewest, static_cast<size_t>(kShrinkingFactor * static_cast<double>(pieces_.size())));
  for (const auto& [loss, i] : losses) {
    if (num_kept >= most) break;
    kept[i] = true;
    ++num_kept;
  }
  keep(kept);
}

void UnigramModel::keep(const std::vector<bool>& kept) {
  std::vector<int32_t> new_ids(pieces_.size(), -1);
  size_t size = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!kept[i]) continue;
    new_ids[i] = static_cast<int32_t>(size);
    if (size != i) pieces_[size] = std::move(pieces_[i]);
    ++size;
  }
  pieces_.resize(size);
  words_.renumber(new_ids);
  itself_.keep_texts(new_ids);
}

}  // namespace berth
