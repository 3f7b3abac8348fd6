#include "trainer/text/training/unigram_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "trainer/text/training/tokenizer_files.h"
#include "trainer/text/training/train_kinds.h"
#include "trainer/text/training/word_counts.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

struct CountedWord {
  std::string_view word;
  uint64_t count;
};

std::vector<CountedWord> most_frequent(const ShardedWordTable& words, size_t most) {
  std::vector<CountedWord> counted;
  counted.reserve(words.size());
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    const WordTable& shard = words.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      counted.push_back({shard.word(entry), entry.count});
    }
  }
  std::sort(counted.begin(), counted.end(), [](const CountedWord& a, const CountedWord& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  counted.resize(std::min(counted.size(), most));
  return counted;
}

template <typename Visit>
void visit_characters(std::string_view word, Visit visit) {
  while (!word.empty()) {
    const DecodedCharacter next = decode_utf8(word);
    visit(next.code_point);
    word.remove_prefix(next.size_bytes);
  }
}

std::vector<char32_t> covering_alphabet(const std::vector<CountedWord>& words, double coverage) {
  std::unordered_map<char32_t, uint64_t> counts;
  uint64_t total = 0;
  for (const auto& [word, count] : words) {
    visit_characters(word, [&, times = count](char32_t c) {
      if (c == kRowEndByte) return;
      counts[c] += times;
      total += times;
    });
  }
  std::vector<std::pair<char32_t, uint64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<char32_t> alphabet;
  uint64_t covered = 0;
  for (const auto& [c, count] : sorted) {
    if (static_cast<double>(covered) >= coverage * static_cast<double>(total)) break;
    alphabet.push_back(c);
    covered += count;
  }
  return alphabet;
}

}  // namespace

UnigramWords unigram_words(ShardedWordTable words, size_t most, double coverage) {
  const std::vector<CountedWord> counted = most_frequent(words, most);
  UnigramWords cut;
  cut.alphabet = covering_alphabet(counted, coverage);
  const std::unordered_set<char32_t> known(cut.alphabet.begin(), cut.alphabet.end());
  for (const auto& [word, count] : counted) {
    size_t begin = cut.characters.size();
    const auto end_word = [&, times = count](Follower follower) {
      if (cut.characters.size() == begin) return;
      begin = cut.characters.size();
      cut.ends.push_back(begin);
      cut.counts.push_back(times);
      cut.followers.push_back(follower);
    };
    visit_characters(word, [&](char32_t c) {
      if (known.contains(c)) cut.characters.push_back(c);
      if (!known.contains(c) || cut.characters.size() - begin == kLongestWord) {
        end_word(c == kRowEndByte ? Follower::kRowEnd : Follower::kOther);
      }
    });
    end_word(Follower::kSpace);
  }
  return cut;
}

namespace {

// The writing systems that pieces of a unigram model do not mix. Japanese is one of them: Han,
// Hiragana and Katakana. Digits, punctuation and symbols are kCommonScript.
enum class Script : unsigned char {
  kCommonScript,
  kInheritedScript,  // combining marks
  kLatin,
  kGreek,
  kCyrillic,
  kArmenian,
  kHebrew,
  kArabic,
  kIndic,  // Devanagari to Sinhala: no text mixes them within a word
  kThai,
  kLao,
  kTibetan,
  kMyanmar,
  kGeorgian,
  kHangul,
  kEthiopic,
  kKhmer,
  kHan,
  kOtherScript,
};

struct Block {
  char32_t first, last;
  Script script;
};

// In the order of code points. Letters outside of these blocks are kOtherScript.
constexpr Block kBlocks[] = {
    {0x0041, 0x02FF, Script::kLatin},    {0x0300, 0x036F, Script::kInheritedScript},
    {0x0370, 0x03FF, Script::kGreek},    {0x0400, 0x052F, Script::kCyrillic},
    {0x0530, 0x058F, Script::kArmenian}, {0x0590, 0x05FF, Script::kHebrew},
    {0x0600, 0x08FF, Script::kArabic},   {0x0900, 0x0DFF, Script::kIndic},
    {0x0E00, 0x0E7F, Script::kThai},     {0x0E80, 0x0EFF, Script::kLao},
    {0x0F00, 0x0FFF, Script::kTibetan},  {0x1000, 0x109F, Script::kMyanmar},
    {0x10A0, 0x10FF, Script::kGeorgian}, {0x1100, 0x11FF, Script::kHangul},
    {0x1200, 0x139F, Script::kEthiopic}, {0x1780, 0x17FF, Script::kKhmer},
    {0x1C80, 0x1C8F, Script::kCyrillic}, {0x1C90, 0x1CBF, Script::kGeorgian},
    {0x1D00, 0x1D7F, Script::kLatin},    {0x1E00, 0x1EFF, Script::kLatin},
    {0x1F00, 0x1FFF, Script::kGreek},    {0x20D0, 0x20FF, Script::kInheritedScript},
    {0x2C60, 0x2C7F, Script::kLatin},    {0x2DE0, 0x2DFF, Script::kCyrillic},
    {0x2E80, 0x312F, Script::kHan},      {0x3130, 0x318F, Script::kHangul},
    {0x3190, 0x4DBF, Script::kHan},      {0x4E00, 0x9FFF, Script::kHan},
    {0xA640, 0xA69F, Script::kCyrillic}, {0xA720, 0xA7FF, Script::kLatin},
    {0xA960, 0xA97F, Script::kHangul},   {0xAB30, 0xAB6F, Script::kLatin},
    {0xAC00, 0xD7FF, Script::kHangul},   {0xF900, 0xFAFF, Script::kHan},
    {0xFB00, 0xFB06, Script::kLatin},    {0xFB1D, 0xFB4F, Script::kHebrew},
    {0xFB50, 0xFDFF, Script::kArabic},   {0xFE70, 0xFEFE, Script::kArabic},
    {0xFF21, 0xFF5A, Script::kLatin},    {0xFF66, 0xFF9F, Script::kHan},
    {0x1B000, 0x1B16F, Script::kHan},    {0x20000, 0x3FFFF, Script::kHan}};

constexpr char32_t kSpaceSign = 0x2581;

// The script of a character, by its Unicode block.
Script script_of(char32_t c) {
  const GeneralCategory category = general_category(c);
  if (category != GeneralCategory::kLetter && category != GeneralCategory::kMark) {
    return Script::kCommonScript;
  }
  const Block* found = std::upper_bound(
      std::begin(kBlocks), std::end(kBlocks), c,
      [](char32_t character, const Block& block) { return character < block.first; });
  if (found == std::begin(kBlocks) || c > (found - 1)->last) return Script::kOtherScript;
  return (found - 1)->script;
}

}  // namespace

bool is_unigram_piece(std::u32string_view piece) {
  if (piece.empty() || piece.size() > kLongestPiece) return false;
  if (piece.find(kSpaceSign, 1) != piece.npos) return false;
  if (piece[0] == kSpaceSign) piece.remove_prefix(1);
  for (const char32_t c : piece) {
    if (script_of(c) != script_of(piece[0])) return false;
  }
  return true;
}

namespace {

// A Follower as a sign in the text, which is no code point.
constexpr char32_t kFirstSign = 0x110000;
constexpr char32_t sign_of(Follower follower) {
  return kFirstSign + static_cast<char32_t>(follower);
}

// The text of all words, each followed by the sign of its Follower, and its suffixes.
struct Suffixes {
  struct Suffix {
    uint32_t begin, word;
  };
  std::u32string text;
  std::vector<Suffix> sorted;

  // The part of a suffix that matters: it ends with its word, the sign included, or one character
  // after the length of the longest piece.
  std::u32string_view at(size_t i) const {
    size_t size = 0;
    const char32_t* const begin = text.data() + sorted[i].begin;
    while (size <= kLongestPiece && begin[size++] < kFirstSign) {
    }
    return {begin, size};
  }
};

Suffixes sorted_suffixes(const UnigramWords& words) {
  Suffixes suffixes;
  suffixes.text.reserve(words.characters.size() + words.size());
  for (uint32_t i = 0; i < words.size(); ++i) {
    for (const char32_t c : words.word(i)) {
      suffixes.sorted.push_back({static_cast<uint32_t>(suffixes.text.size()), i});
      suffixes.text.push_back(c);
    }
    suffixes.text.push_back(sign_of(words.followers[i]));
  }
  std::sort(suffixes.sorted.begin(), suffixes.sorted.end(),
            [text = suffixes.text.data()](Suffixes::Suffix a, Suffixes::Suffix b) {
              for (size_t i = 0; i <= kLongestPiece; ++i) {
                const char32_t left = text[a.begin + i], right = text[b.begin + i];
                if (left != right) return left < right;
                if (left >= kFirstSign) return false;
              }
              return false;
            });
  return suffixes;
}

size_t common_prefix(std::u32string_view a, std::u32string_view b) {
  const auto end = std::mismatch(
      a.begin(), a.begin() + static_cast<ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
  return static_cast<size_t>(end.first - a.begin());
}

struct Substring {
  std::u32string_view text;
  uint64_t coverage;  // characters that its occurrences cover
};

// Visits the inner nodes of the suffix tree, which are the intervals of sorted suffixes with a
// common prefix: visit(prefix, occurrences).
template <typename Visit>
void visit_repeated(const Suffixes& suffixes, const UnigramWords& words, Visit visit) {
  struct Open {
    size_t length;
    uint64_t occurrences_before;
  };
  std::vector<Open> open;
  uint64_t occurrences = 0;  // of the suffixes before suffix i
  for (size_t i = 1; i <= suffixes.sorted.size(); ++i) {
    const std::u32string_view before = suffixes.at(i - 1);
    const size_t common = i == suffixes.sorted.size() ? 0 : common_prefix(before, suffixes.at(i));
    uint64_t first = occurrences;
    occurrences += words.counts[suffixes.sorted[i - 1].word];
    for (; !open.empty() && open.back().length > common; open.pop_back()) {
      first = open.back().occurrences_before;
      visit(before.substr(0, open.back().length), occurrences - first);
    }
    if (common > 0 && (open.empty() || open.back().length < common)) {
      open.push_back({common, first});
    }
  }
}

}  // namespace

std::vector<UnigramPiece> unigram_seeds(const UnigramWords& words, size_t most) {
  const Suffixes suffixes = sorted_suffixes(words);
  std::vector<Substring> substrings;
  visit_repeated(suffixes, words, [&](std::u32string_view text, uint64_t occurrences) {
    if (text.size() < 2 || text.back() >= kFirstSign || !is_unigram_piece(text)) return;
    substrings.push_back({text, occurrences * text.size()});
  });
  std::sort(substrings.begin(), substrings.end(), [](const Substring& a, const Substring& b) {
    return a.coverage != b.coverage ? a.coverage > b.coverage : a.text < b.text;
  });
  substrings.resize(std::min(substrings.size(), most));
  std::unordered_map<char32_t, uint64_t> counts;
  for (size_t i = 0; i < words.size(); ++i) {
    for (const char32_t c : words.word(i)) counts[c] += words.counts[i];
  }
  std::vector<UnigramPiece> seeds;
  double total = 0;
  const auto add = [&](std::u32string_view text, uint64_t coverage) {
    seeds.push_back({std::u32string(text), static_cast<double>(coverage)});
    total += static_cast<double>(coverage);
  };
  for (const char32_t c : words.alphabet) add(std::u32string(1, c), counts[c]);
  for (const Substring& substring : substrings) add(substring.text, substring.coverage);
  for (UnigramPiece& seed : seeds) seed.score = std::log(seed.score) - std::log(total);
  return seeds;
}

void UnigramLattices::add(std::u32string_view text,
                          const std::unordered_map<std::u32string_view, int32_t>& ids) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    const size_t longest = std::min(kLongestPiece, text.size() - begin);
    for (size_t size = 1; size <= longest; ++size) {
      const auto found = ids.find(text.substr(begin, size));
      if (found == ids.end()) continue;
      arcs_.push_back(
          {static_cast<uint8_t>(begin), static_cast<uint8_t>(begin + size), found->second});
    }
  }
  ends_.push_back(arcs_.size());
  lengths_.push_back(static_cast<uint8_t>(text.size()));
}

void UnigramLattices::renumber(const std::vector<int32_t>& new_ids) {
  uint64_t kept = 0, begin = 0;
  for (uint64_t& end : ends_) {
    for (uint64_t i = begin; i < end; ++i) {
      Arc arc = arcs_[i];
      arc.piece = new_ids[static_cast<size_t>(arc.piece)];
      if (arc.piece >= 0) arcs_[kept++] = arc;
    }
    begin = end;
    end = kept;
  }
  arcs_.resize(kept);
}

void UnigramLattices::keep_texts(const std::vector<int32_t>& new_ids) {
  uint64_t kept_arcs = 0, begin = 0;
  size_t kept = 0;
  for (size_t text = 0; text < ends_.size(); ++text) {
    const uint64_t end = ends_[text];
    if (new_ids[text] >= 0) {
      for (uint64_t i = begin; i < end; ++i) arcs_[kept_arcs++] = arcs_[i];
      ends_[kept] = kept_arcs;
      lengths_[kept++] = lengths_[text];
    }
    begin = end;
  }
  arcs_.resize(kept_arcs);
  ends_.resize(kept);
  lengths_.resize(kept);
  renumber(new_ids);
}

double UnigramLattices::best_path(size_t text, const std::vector<double>& scores, int32_t without,
                                  std::vector<int32_t>& path) const {
  constexpr double kNoWay = -std::numeric_limits<double>::infinity();
  struct Node {
    double score;
    const Arc* arc;
  };
  std::array<Node, 256> best;
  const uint8_t size = length(text);
  std::fill_n(best.begin(), size + 1, Node{kNoWay, nullptr});
  best[0].score = 0;
  for (const Arc* arc = begin(text); arc != end(text); ++arc) {
    if (arc->piece == without || best[arc->begin].score == kNoWay) continue;
    const double score = best[arc->begin].score + scores[static_cast<size_t>(arc->piece)];
    if (score > best[arc->end].score) best[arc->end] = {score, arc};
  }
  if (best[size].score == kNoWay) return kNoWay;
  for (uint8_t at = size; at > 0; at = best[at].arc->begin) path.push_back(best[at].arc->piece);
  return best[size].score;
}

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

namespace {

// The defaults of SentencePiece's trainer. It has no limit of words.
constexpr size_t kMostSeeds = 1'000'000;
constexpr size_t kMostTrainingWords = 1'000'000;
constexpr double kCharacterCoverage = 0.9995;
constexpr double kSurplus = 1.1;  // of the pieces that pruning leaves; the rarest are cut off
constexpr int kStepsBetweenPrunings = 2;
constexpr size_t kSpecialTokens = 5;

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
  for (const UnigramPiece& piece : pieces) best.emplace_back(to_utf8(piece.text), piece.score);
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
