#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/data/example.h"

namespace berth {

// The columns that hold the choices of a row, in their order: one for each (ending0, ending1, ...,
// option_a, option_b, ..., or A, B, ...), or one with lists (endings, options, choices, ...).
// Empty: there are none. Throws kBadData where the numbers in the names have a gap.
std::vector<size_t> find_choices(std::span<const Column> columns);

// The column of what stands between the context in column `context` and each choice: a question, or
// how each choice begins. A context that is a question itself has another one only where its column
// is called "question", "query" or "sent2".
std::optional<size_t> find_lead(std::span<const Column> columns, size_t context);

// The choices of a row, and what its label may call them.
struct Choices {
  std::vector<std::string> texts{}, names{};  // names: empty where the row has none
};

// The choices in a cell: a list of texts, {"text": [...], "label": [...]}, [{"text": ...,
// "label": ...}, ...], or {"A": ..., "B": ..., ...}. The members of such a list may also be called
// "value" and "key". Throws kBadData for anything else.
Choices listed_choices(std::string_view column, const std::string& cell);

// The second text of a pair, which follows the context: "lead choice". In a lead that
// `may_have_gap` the choice replaces each gap, a run of '_', as transformers' example for RACE
// does. The '_' of a name such as "x_max" or "__init__" are no gaps.
std::string text_of_choice(const std::string& lead, const std::string& choice, bool may_have_gap);

// Whether the lead in this column may have a gap: all but SWAG's "sent2".
bool may_have_gap(std::string_view column);

// The number of the choice that a label means. Where the choices have names, the label is one of
// them, or a number from 0 where no name is a number. Else it is a number from 0, or a letter from
// A. It may also be the name of the choice's own column, in `columns`, or the whole text of one
// choice. Throws kBadData where it means none of the choices, or several.
int32_t number_of_choice(const Cell& cell, const Choices& choices,
                         std::span<const std::string> columns = {});

// The choices of a table's rows, row by row. Not thread-safe.
class RowsOfChoices {
 public:
  // Throws kBadData where the row has one choice, or another number of choices than the first row.
  void begin_row(Choices choices);
  size_t per_row() const { return per_row_; }  // 0 before the first row
  // What number_of_choice() returns for a label of the row.
  int32_t right_one(const Cell& label, std::span<const std::string> columns);
  // Warnings of equal choices, and where the right choices by their places show another way to
  // count.
  std::vector<Finding> findings() const;

 private:
  Choices choices_;  // of the row
  size_t per_row_ = 0;
  size_t right_ = 0, first_ = 0,
         equal_ = 0;  // rows with a label, with the first choice, with equal ones
};

// Whether rows are articles with several questions each, as in RACE's own files (Lai et al. 2017,
// arXiv:1704.04683).
bool names_articles(std::span<const Column> columns);
// Reads such rows as a row for each question, with the columns article, question, options, id and,
// where there are answers, answer. Throws kBadData, naming the article, where its lists differ in
// length.
std::unique_ptr<RowReader> make_question_rows(std::unique_ptr<RowReader> articles);

}  // namespace berth
