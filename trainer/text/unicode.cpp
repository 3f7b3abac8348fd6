#include "trainer/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <unordered_map>

#include "trainer/text/unicode_tables.h"

namespace berth {

CharacterClasses::CharacterClasses() {
  std::unordered_map<std::string, uint16_t> known;
  const CharacterRange* range = kCharacterRanges;
  const CharacterRange* end = kCharacterRanges + kCharacterRangeCount;
  std::string block(256, '\0');
  for (size_t i = 0; i < block_of_.size(); ++i) {
    const char32_t first = static_cast<char32_t>(i) * 256, last = first + 255;
    block.assign(256, '\0');
    while (range != end && range->last < first) ++range;
    for (const CharacterRange* r = range; r != end && r->first <= last; ++r) {
      const char32_t from = std::max(r->first, first), to = std::min(r->last, last);
      std::fill(block.begin() + (from - first), block.begin() + (to - first) + 1,
                static_cast<char>(r->classes));
    }
    const auto [entry, is_new] = known.try_emplace(block, static_cast<uint16_t>(known.size()));
    block_of_[i] = entry->second;
    if (is_new) blocks_.insert(blocks_.end(), block.begin(), block.end());
  }
}

const CharacterClasses& CharacterClasses::shared() {
  static const CharacterClasses classes;
  return classes;
}

Characters decompose(char32_t c) {
  std::array<utf8proc_int32_t, 4> parts{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                             parts.size(), UTF8PROC_DECOMPOSE, &boundary);
  if (count < 1 || count > 4) return {{c}, 1};
  Characters result{{}, static_cast<size_t>(count)};
  std::copy_n(parts.begin(), count, result.items.begin());
  return result;
}

Characters lower_case(char32_t c) {
  const LowerCase* end = kLowerCases + kLowerCaseCount;
  const LowerCase* pinned = std::lower_bound(
      kLowerCases, end, c, [](const LowerCase& row, char32_t wanted) { return row.from < wanted; });
  if (pinned != end && pinned->from == c) {
    return {{pinned->to, pinned->second}, pinned->second == 0 ? size_t{1} : size_t{2}};
  }
  return {{static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)))}, 1};
}

uint8_t combining_class(char32_t c) {
  return static_cast<uint8_t>(
      utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
}

bool is_word_character(char32_t c) {
  if (c == 0x200C || c == 0x200D) return true;  // joiners
  if ((c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
      (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189)) {
    return true;  // letters in circles and squares
  }
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC;
}

void decompose_compatibly(char32_t c, std::u32string& out) {
  std::array<utf8proc_int32_t, 32> parts{};
  int boundary = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                             parts.size(), options, &boundary);
  if (count < 1 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    out.push_back(c);
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    out.push_back(static_cast<char32_t>(parts[static_cast<size_t>(i)]));
  }
}

char32_t compose(char32_t first, char32_t second) {
  utf8proc_int32_t both[] = {static_cast<utf8proc_int32_t>(first),
                             static_cast<utf8proc_int32_t>(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(both, 2, options) == 1 ? static_cast<char32_t>(both[0]) : 0;
}

bool breaks_cluster(char32_t before, char32_t after, int32_t& state) {
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                          static_cast<utf8proc_int32_t>(after), &state);
}

GeneralCategory general_category(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  if (category == UTF8PROC_CATEGORY_CN) return GeneralCategory::kUnassigned;
  if (category <= UTF8PROC_CATEGORY_LO) return GeneralCategory::kLetter;
  if (category <= UTF8PROC_CATEGORY_ME) return GeneralCategory::kMark;
  if (category <= UTF8PROC_CATEGORY_NO) return GeneralCategory::kNumber;
  return GeneralCategory::kOther;
}

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
