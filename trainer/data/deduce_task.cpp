#include "trainer/data/deduce_task.h"

#include <cmath>
#include <optional>

#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

// The number that a cell holds, perhaps as text. nullopt if it holds no number.
std::optional<double> number_of(const Cell& cell) {
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* text = std::get_if<std::string>(&cell)) return parse_real(*text);
  if (const auto* integer = std::get_if<int64_t>(&cell)) return static_cast<double>(*integer);
  return std::nullopt;
}

// Whether a cell holds several labels. A damaged list counts too, because reading it then reports
// what is wrong.
bool holds_several(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return false;
  const bool is_list =
      is_bracketed(*text) && (text->find(',') != std::string::npos || parse_text_list(*text));
  return is_list || parse_tuple(*text) || text->find('|') != std::string::npos;
}

LabelKind kind_of_labels(size_t column, std::span<const Row> rows, LabelForm form) {
  const bool is_of_sets = !form.separators.empty() || form.lists != LabelLists::kAuto;
  if (is_of_sets || find_multi_hot(rows, column, form)) return LabelKind::kSet;
  if (find_decimal_commas(rows, column) != DecimalCommas::kNone) return LabelKind::kNumber;
  bool all_numbers = true, any_fraction = false;
  for (const Row& row : rows) {
    const Cell& cell = row[column];
    if (std::holds_alternative<std::monostate>(cell)) continue;
    if (holds_several(cell)) return LabelKind::kSet;
    const std::optional<double> number = number_of(cell);
    all_numbers = all_numbers && number && std::isfinite(*number);
    any_fraction = any_fraction || (number && *number != std::floor(*number));
  }
  return all_numbers && any_fraction ? LabelKind::kNumber : LabelKind::kClass;
}

LabelKind deduce_labels(std::span<const Column> columns, std::span<const Row> rows,
                        const ColumnChoice& choice, const LabelForm& form) {
  if (choice.text.empty() && choice.label.empty()) {
    if (names_answers(columns)) return LabelKind::kSpan;
    if (names_words_and_tags(columns)) return LabelKind::kTagPerWord;
  }
  const bool names_several = choice.label.find(',') != std::string::npos;
  if (names_several && !find_column(columns, choice.label)) return LabelKind::kSet;
  const FoundColumns found = find_columns(columns, choice, LabelNeed::kIfPresent);
  if (!found.labels.empty()) return kind_of_labels(found.labels[0], rows, form);
  const FoundColumns scores =
      find_columns(columns, choice, LabelNeed::kIfPresent, usual_task(LabelKind::kNumber));
  return scores.labels.empty() ? LabelKind::kClass : LabelKind::kNumber;
}

}  // namespace

Task deduce_task(std::span<const Column> columns, std::span<const Row> rows,
                 const ColumnChoice& choice, const LabelForm& form) {
  return usual_task(deduce_labels(columns, rows, choice, form));
}

}  // namespace berth
