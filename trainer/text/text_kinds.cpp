#include "trainer/text/text_kinds.h"

#include <algorithm>

#include "trainer/text/newer_characters.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

bool within(char32_t c, const CodePointRange* ranges, size_t count) {
  const CodePointRange* found =
      std::lower_bound(ranges, ranges + count, c,
                       [](const CodePointRange& range, char32_t x) { return range.last < x; });
  return found != ranges + count && found->first <= c;
}

}  // namespace

TextKind text_kind(char32_t c) {
  if (c < 0x80) return kAsciiTextKinds[c];
  switch (general_category(c)) {
    case GeneralCategory::kLetter:
      return TextKind::kLetter;
    case GeneralCategory::kNumber:
      return TextKind::kNumber;
    case GeneralCategory::kUnassigned:
      if (within(c, kNewerLetters, kNewerLettersCount)) return TextKind::kLetter;
      if (within(c, kNewerNumbers, kNewerNumbersCount)) return TextKind::kNumber;
      return TextKind::kOther;
    default:
      return is_white_space(c) ? TextKind::kSpace : TextKind::kOther;
  }
}

bool is_white_space(char32_t c) { return CharacterClasses::shared().of(c) & kWhitespace; }

bool is_regex_word(char32_t c) {
  return is_word_character(c) || within(c, kNewerWords, kNewerWordsCount);
}

bool is_numeric(char32_t c) {
  return general_category(c) == GeneralCategory::kNumber ||
         within(c, kNewestNumbers, kNewestNumbersCount);
}

bool is_accent(char32_t c) {
  if (general_category(c) == GeneralCategory::kMark) {
    return !within(c, kLaterMarks, kLaterMarksCount);
  }
  return within(c, kMarksOfNormalization, kMarksOfNormalizationCount);
}

bool keeps_compatible_form(char32_t c) {
  return within(c, kLaterCompatible, kLaterCompatibleCount);
}

}  // namespace berth
