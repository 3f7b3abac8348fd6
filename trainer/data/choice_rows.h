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
// how each choice begins.
std::optional<size_t> find_lead(std::span<const Column> columns, size_t context);

// The choices of a row, and what its label may call them.
struct Choices {
  std::vector<std::string> texts{}, names{};  // names: empty where the row has none
};

// The choices in a cell: a list of texts, {"text": [...], "label": [...]} or [{"text": ...,
// "label": ...}, ...]. Throws kBadData for anything else.
Choices listed_choices(std::string_view column, const std::string& cell);

// The second text of a pair, which follows the context: "lead choice". In a lead that
// `may_have_gap` the choice replaces each gap, a run of '_', as transformers' example for RACE
// does.
std::string text_of_choice(const std::string& lead, const std::string& choice, bool may_have_gap);

// Whether the lead in this column may have a gap: all but SWAG's "sent2".
bool may_have_gap(std::string_view column);

// The number of the choice that a label means: a number from 0, a letter from A, or one of the
// names of the row's own choices. Throws kBadData where it means none of `count`.
int32_t number_of_choice(const Cell& cell, size_t count, std::span<const std::string> names);

// Whether rows are articles with several questions each, as in RACE's own files (Lai et al. 2017,
// arXiv:1704.04683).
bool names_articles(std::span<const Column> columns);
// Reads such rows as a row for each question, with the columns article, question, options, id and,
// where there are answers, answer. Throws kBadData, naming the article, where its lists differ in
// length.
std::unique_ptr<RowReader> make_question_rows(std::unique_ptr<RowReader> articles);

}  // namespace berth
