#include "entrypoint/inspect/column_summary.h"

#include <algorithm>

#include "entrypoint/flags/flag_value.h"
#include "storage/base/text.h"

namespace berth {
std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string cut_text(std::string_view text, size_t limit) {
  const size_t end = code_point_offset(text, static_cast<uint32_t>(limit));
  return cat(text.substr(0, end), end < text.size() ? "..." : "");
}

std::string cell_text(const Cell& cell, size_t limit) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    std::string line = cut_text(*text, limit);
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return line;
  }
  if (const auto* number = std::get_if<int64_t>(&cell)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&cell)) return real_text(*real);
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "true" : "false";
  return "-";
}

void ColumnSummary::add(const Cell& cell) {
  ++cells_;
  if (std::holds_alternative<std::monostate>(cell)) {
    ++missing_;
    return;
  }
  if (const auto* text = std::get_if<std::string>(&cell)) {
    ++texts_;
    ++sizes_[code_point_count(*text)];
  }
  integers_ += std::holds_alternative<int64_t>(cell);
  reals_ += std::holds_alternative<double>(cell);
  bools_ += std::holds_alternative<bool>(cell);
  if (has_many_values_) return;
  ++values_[cell_text(cell, 60)];
  if (values_.size() > kMostValues) {
    has_many_values_ = true;
    values_.clear();
  }
}

void ColumnSummary::add_array(size_t size) {
  ++cells_;
  ++arrays_;
  ++sizes_[size];
  has_many_values_ = true;
}

std::string ColumnSummary::kind() const {
  const uint64_t present = cells_ - missing_;
  if (present == 0) return "nothing";
  if (arrays_ == present) return "arrays";
  if (texts_ == present) return "texts";
  if (integers_ == present) return "integers";
  if (bools_ == present) return "true or false";
  if (integers_ + reals_ == present) return "numbers";
  return "values of several kinds";
}

std::string ColumnSummary::spread() const {
  if (sizes_.empty()) return "";
  uint64_t total = 0, seen = 0, median = 0;
  for (const auto& [size, count] : sizes_) total += count;
  for (const auto& [size, count] : sizes_) {
    seen += count;
    median = size;
    if (2 * seen >= total) break;
  }
  const uint64_t least = sizes_.begin()->first, most = sizes_.rbegin()->first;
  const std::string unit = cat(arrays_ > 0 ? " element" : " character", most == 1 ? "" : "s");
  if (least == most) return cat(", ", grouped(least), unit);
  return cat(", ", grouped(least), " to ", grouped(most), unit, ", median ", grouped(median));
}

std::string ColumnSummary::counts() const {
  if (has_many_values_ || values_.empty() || values_.size() == cells_ - missing_) return "";
  std::vector<std::pair<std::string, uint64_t>> most(values_.begin(), values_.end());
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr size_t kShown = 12;
  std::string text = cat(", ", values_.size(), values_.size() == 1 ? " value: " : " values: ");
  for (size_t i = 0; i < std::min(kShown, most.size()); ++i) {
    text += cat(i == 0 ? "" : ", ", most[i].first, " (", grouped(most[i].second), ")");
  }
  return text + (most.size() > kShown ? ", ..." : "");
}

std::string ColumnSummary::text() const {
  return cat(kind(), spread(), counts(),
             missing_ > 0 ? cat(", ", grouped(missing_), " missing") : "");
}

}  // namespace berth
