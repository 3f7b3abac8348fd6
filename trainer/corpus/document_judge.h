#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/corpus/cleaning_rules.h"
#include "trainer/corpus/minhash.h"
#include "trainer/corpus/repetition.h"
#include "trainer/corpus/text_hash.h"
#include "trainer/corpus/words.h"

namespace berth {

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
