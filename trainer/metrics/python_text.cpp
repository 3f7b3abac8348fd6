#include "trainer/metrics/python_text.h"

#include <algorithm>
#include <span>

#include "storage/base/utf8.h"
#include "trainer/metrics/python_text_tables.h"

namespace berth {
namespace {

// The range or run that holds c. null if none does.
template <typename T>
const T* holding(std::span<const T> sorted, char32_t c) {
  const auto after = std::upper_bound(sorted.begin(), sorted.end(), c,
                                      [](char32_t x, const T& range) { return x < range.first; });
  if (after == sorted.begin()) return nullptr;
  const T& range = *(after - 1);
  return c <= range.last ? &range : nullptr;
}

char32_t lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  // Runs of every second character may overlap, so the nearest run before c may not be the one that
  // holds it.
  const std::span runs(kLowerCaseRuns, kLowerCaseRunCount);
  for (const LowerCaseRun& run : runs) {
    if (run.first > c) break;
    if (c <= run.last && (c - run.first) % run.step == 0) {
      return static_cast<char32_t>(static_cast<int32_t>(c) + run.difference);
    }
  }
  return c;
}

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string points;
  while (!text.empty()) {
    const DecodedCharacter next = decode_at(text, 0);
    points += next.code_point;
    text.remove_prefix(is_malformed(next, text) ? 1 : next.size_bytes);
  }
  return points;
}

std::u32string lowered(std::u32string_view text) {
  constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2, kDottedI = 0x130;
  std::u32string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kDottedI) {
      result += U"i\u0307";
    } else if (text[i] == kSigma && i > 0 && is_alphanumeric(text[i - 1]) &&
               (i + 1 == text.size() || !is_alphanumeric(text[i + 1]))) {
      result += kFinalSigma;
    } else {
      result += lower(text[i]);
    }
  }
  return result;
}

bool is_alphanumeric(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  return holding(std::span(kAlphanumericRanges, kAlphanumericRangeCount), c) != nullptr;
}

bool is_space(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

}  // namespace berth
