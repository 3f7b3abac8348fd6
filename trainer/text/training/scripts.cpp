#include "trainer/text/training/scripts.h"

#include <algorithm>
#include <iterator>

#include "trainer/text/training/unigram_words.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

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

}  // namespace

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

bool is_unigram_piece(std::u32string_view piece) {
  if (piece.empty() || piece.size() > kLongestPiece) return false;
  if (piece.find(kSpaceSign, 1) != piece.npos) return false;
  if (piece[0] == kSpaceSign) piece.remove_prefix(1);
  for (const char32_t c : piece) {
    if (script_of(c) != script_of(piece[0])) return false;
  }
  return true;
}

}  // namespace berth
