#include "storage/formats/pickle/cell_source.h"

#include <charconv>
#include <cmath>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"

namespace berth {

void MemoryBudget::spend(uint64_t size_bytes) {
  if (size_bytes > left_) {
    throw Error(Code::kBadData, "repeats its names or categories to many times its size");
  }
  left_ -= size_bytes;
}

void set_text(std::string_view text, Cell& cell) {
  if (const auto bad = find_invalid_utf8(text)) {
    throw Error(Code::kBadData, cat("byte ", *bad + 1, " of the text is not UTF-8"));
  }
  if (auto* old = std::get_if<std::string>(&cell)) {
    old->assign(text);
  } else {
    cell.emplace<std::string>(text);
  }
}

void set_old_text(std::string_view text, Cell& cell) {
  if (!find_invalid_utf8(text)) return set_text(text, cell);
  std::string decoded;
  for (const char c : text) append_utf8(static_cast<unsigned char>(c), decoded);
  cell = std::move(decoded);
}

void set_float(double value, Cell& cell) {
  if (std::isnan(value)) {
    cell = std::monostate();
  } else {
    cell = value;
  }
}

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "True" : "False";
  const auto* real = std::get_if<double>(&cell);
  if (real == nullptr) return "nan";
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, *real);
  std::string text(digits, end);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace berth
