#include "trainer/data/deduce_task.h"

#include <algorithm>
#include <string>
#include <variant>

#include "storage/base/text.h"
#include "storage/formats/conll_columns.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/text_list.h"
#include "trainer/data/word_rows.h"

namespace berth {
namespace {

// Whether a cell holds several labels. A damaged list counts too, because reading it then reports
// what is wrong.
bool holds_several(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return false;
  const bool is_list =
      is_bracketed(*text) && (text->find(',') != std::string::npos || parse_text_list(*text));
  return is_list || parse_tuple(*text) || text->find('|') != std::string::npos;
}

// Whether the cells hold tags such as "B-PER O O" or ['B-PER', 'O'], one for each word of a
// sentence. A few tags may be others.
bool are_tags_of_words(size_t column, const PeekedTable& table) {
  size_t entities = 0, others = 0;
  bool has_several = false;
  for (const Row& row : table.rows) {
    const auto* text = std::get_if<std::string>(&row[column]);
    others += text == nullptr;
    if (text == nullptr) continue;
    auto tags = parse_text_list(*text);
    if (!tags) tags = parse_tuple(*text);
    if (!tags) tags = parse_joined_tags(*text);
    if (!tags) tags = parted(*text, " \t");
    for (const std::string& tag : *tags) {
      entities += is_entity_tag(tag);
      others += !is_entity_tag(tag) && !is_filler_tag(tag);
    }
    has_several = has_several || tags->size() > 1;
  }
  return are_most_tags(entities, others) && has_several;
}

LabelKind kind_of_labels(size_t column, const PeekedTable& table, LabelForm form) {
  const bool is_of_sets = !form.separators.empty() || form.lists != LabelLists::kAuto;
  if (!is_of_sets && are_tags_of_words(column, table)) return LabelKind::kTagPerWord;
  if (is_of_sets || find_multi_hot(table.rows, column, form)) return LabelKind::kSet;
  const NumbersFound numbers = find_numbers(table.rows, column, table.are_texts);
  // "(1,5)" can be how accountants write -1.5. If every cell is in parentheses, the cells are
  // tuples.
  const bool are_numbers = numbers.are_all() && numbers.fractions > 0;
  const auto is_tuple = [&](const Row& row) {
    const auto* text = std::get_if<std::string>(&row[column]);
    return text != nullptr && parse_tuple(*text);
  };
  if (!are_numbers || std::ranges::all_of(table.rows, is_tuple)) {
    for (const Row& row : table.rows) {
      if (holds_several(row[column])) return LabelKind::kSet;
    }
  }
  // The reader of numbers reports what is wrong with a cell.
  const bool has_fraction = numbers.fractions > 0 || numbers.is_ambiguous;
  return numbers.are_most() && has_fraction ? LabelKind::kNumber : LabelKind::kClass;
}

// Whether a column "answer" says true or false of a question, as in BoolQ's own files.
bool holds_marks(const PeekedTable& table) {
  const auto column = find_column(table.columns, "answer");
  return column && std::ranges::all_of(table.rows, [&](const Row& row) {
           return column_mark(row[*column]).has_value();
         });
}

LabelKind deduce_labels(const PeekedTable& table, const ColumnChoice& choice,
                        const LabelForm& form) {
  const std::span<const Column> columns = table.columns;
  if (choice.text.empty() && choice.label.empty()) {
    const bool has_classes = find_usual_labels(columns, kDefaultTask).has_value();
    const bool may_be_labels = has_classes || holds_marks(table);
    if (names_answers(columns) && !(may_be_labels && has_plain_answers(columns, table.rows))) {
      return LabelKind::kSpan;
    }
    if (names_words_and_tags(columns)) return LabelKind::kTagPerWord;
  }
  const bool names_several = choice.label.find(',') != std::string::npos;
  if (names_several && !find_column(columns, choice.label)) return LabelKind::kSet;
  const FoundColumns found = find_columns(columns, choice, LabelNeed::kIfPresent);
  if (found.labels.empty()) return LabelKind::kClass;
  const size_t column = found.labels[0];
  const LabelKind kind = kind_of_labels(column, table, form);
  // The similarity of two texts is a number, even if no row has a fraction.
  const bool compares =
      choice.label.empty() && found.text_pair && names_scores(columns[column].name);
  if (!compares || kind != LabelKind::kClass) return kind;
  const NumbersFound numbers = find_numbers(table.rows, column, table.are_texts);
  return numbers.cells == 0 || numbers.are_most() ? LabelKind::kNumber : kind;
}

}  // namespace

Task deduce_task(const PeekedTable& table, const ColumnChoice& choice, const LabelForm& form) {
  return usual_task(deduce_labels(table, choice, form));
}

}  // namespace berth
