#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

// The rules that a document of a corpus must pass. A limit of 0 is off.
struct CleaningOptions {
  bool normalizes = true;                   // clean_text.h
  int64_t min_length = 32, max_length = 0;  // characters
  int64_t min_words = 5, max_words = 0;     // clean_text.h
  double min_letter_ratio = 0.6;            // letters and marks among all but spaces
  double max_repetition = 0.3;              // document_judge.h; 0.3 are Gopher's limits
  bool drops_duplicates = true;             // documents that are equal after cleaning
  double near_duplicate_threshold = 0.8;    // duplicates.h
};

// The reasons for which a document is removed, in the order in which they are looked at. A document
// is removed for the first reason that holds.
enum class CleaningRule : uint8_t {
  kTooShort,
  kTooLong,
  kTooFewWords,
  kTooManyWords,
  kTooFewLetters,
  kRepetitive,
  kDuplicate,
  kNearDuplicate,
};
inline constexpr size_t kCleaningRules = 8;

// The rule's name in the report, such as "too_short", and what the log calls its documents.
std::string_view rule_name(CleaningRule rule);
std::string_view rule_words(CleaningRule rule);

}  // namespace berth
