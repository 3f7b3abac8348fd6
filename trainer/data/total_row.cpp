#include "trainer/data/total_row.h"

#include <algorithm>
#include <cmath>

#include "storage/base/text.h"

namespace berth {
namespace {

bool names_total(std::string_view text) {
  constexpr std::string_view kNames[] = {"total",
                                         "totals",
                                         "grand total",
                                         "grand totals",
                                         "subtotal",
                                         "sub total",
                                         "sum",
                                         "average",
                                         "mean",
                                         "summe",
                                         "gesamt",
                                         "gesamtsumme",
                                         "gesamtergebnis",
                                         "zwischensumme",
                                         "mittelwert",
                                         "durchschnitt",
                                         "somme",
                                         "moyenne",
                                         "total general",
                                         "total général",
                                         "totaal",
                                         "totale",
                                         "suma",
                                         "soma",
                                         "итого",
                                         "Итого",
                                         "всего",
                                         "Всего",
                                         "合計",
                                         "合计",
                                         "总计",
                                         "總計",
                                         "합계"};
  std::string plain = lower_ascii(trimmed(text));
  while (plain.ends_with(':') || plain.ends_with('=')) plain.pop_back();
  return std::ranges::find(kNames, trimmed(plain)) != std::end(kNames);
}

}  // namespace

void TotalRow::add(std::string_view text, std::string_view label, std::optional<double> number) {
  if (rows_++ > 0) {
    are_numbers_ = are_numbers_ && number_;
    sum_ += number_.value_or(0);
    largest_ = std::max(largest_, std::abs(number_.value_or(0)));
  }
  text_ = text;
  label_ = label;
  number_ = number;
}

std::vector<Finding> TotalRow::findings(std::string_view position) const {
  constexpr size_t kFewRows = 5;
  if (rows_ <= kFewRows) return {};
  // Twice the largest label, so that few small labels do not add up to the last one by chance.
  const bool is_sum = are_numbers_ && number_ && std::abs(*number_) >= 2 * largest_ &&
                      largest_ > 0 && std::abs(*number_ - sum_) <= 1e-6 * std::abs(sum_);
  if (!is_sum && !names_total(text_) && !names_total(label_)) return {};
  return {{"",
           cat("the last row, on ", position, ", seems to sum up the rows above it (",
               quoted(text_), label_.empty() ? "" : cat(", label ", quoted(label_)),
               "), and is read as a row; remove it if it does"),
           /*is_warning=*/true}};
}

}  // namespace berth
