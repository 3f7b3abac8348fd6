#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/corpus/clean_text.h"
#include "trainer/corpus/cleaning_rules.h"
#include "trainer/corpus/duplicates.h"

namespace berth {

// A text repeats itself too much, by the rules of Gopher (Rae et al. 2021, arXiv:2112.11446, table
// A1). The limits are Gopher's where `largest_share` is 0.3. Otherwise all of them are larger or
// smaller in proportion.
//
//   lines           0.30   of the lines stand further up in the text as well
//   characters      0.20   of all characters are in such lines
//   2-, 3-, 4-gram  0.20, 0.18, 0.16   of the words' characters are in the most frequent n-gram
//   5- to 10-grams  0.15, 0.14, 0.13, 0.12, 0.11, 0.10   of the words' characters are in n-grams
//                   that stand further up in the text as well
//
// The rules for 2-, 3- and 4-grams need 50 words, which is the shortest text of Gopher's. Without
// them, a name that a headline repeats would be too much.
struct Repetition {
  double share;
  std::string of;  // "lines", "characters in repeated lines", "the 2-gram", "repeated 5-grams"
};

// Measures texts. Holds scratch memory, so each thread needs its own.
class RepetitionMeter {
 public:
  static constexpr double kGopher = 0.3;

  // The first rule of the table that `text` breaks, or nullopt. `words` are the result of
  // find_words().
  std::optional<Repetition> find(std::string_view text, std::span<const Word> words,
                                 double largest_share);

 private:
  // A multiset of hashes, which is emptied in constant time.
  class Counts {
   public:
    void clear(size_t most);
    uint32_t add(uint64_t hash);  // returns how many equal hashes were added, with this one

   private:
    struct Slot {
      uint64_t hash;
      uint32_t round, count;
    };
    std::vector<Slot> slots_;
    uint32_t round_ = 0;
    size_t mask_ = 0;
  };

  std::optional<Repetition> find_lines(std::string_view text, double scale);
  uint64_t characters_of_top(std::span<const Word> words, size_t n);
  uint64_t characters_repeated(std::span<const Word> words, size_t n);
  template <typename Use>
  void for_each_ngram(std::span<const Word> words, size_t n, const Use& use);

  Counts counts_;
};

// A document after all rules that look at it alone.
struct JudgedDocument {
  std::string text;                    // cleaned
  std::optional<CleaningRule> rule{};  // why it is removed
  std::string because{};               // what was measured: "12 characters"
  // The hashes by which equal and similar documents are found. Unset where the document is removed,
  // or where the rule is off.
  TextHash hash{};
  MinHash sketch{};
};

// Cleans documents and applies the rules that look at one document. The outcome depends on the
// document and the options only. Holds scratch memory, so each thread needs its own.
class DocumentJudge {
 public:
  explicit DocumentJudge(const CleaningOptions& options) : options_(options) {}

  // `text` is UTF-8.
  void judge(std::string_view text, JudgedDocument& judged);

 private:
  void apply_rules(JudgedDocument& judged);

  const CleaningOptions options_;
  std::vector<Word> words_;
  RepetitionMeter repetition_;
  MinHasher hasher_;
};

}  // namespace berth
