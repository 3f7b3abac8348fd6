#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "storage/formats/row_reader.h"
#include "trainer/data/find_columns.h"

namespace berth {

// Rows that annotators have left out. These say why; they stand in the log and in job.json.
constexpr std::string_view kLeftOut = "left out: ";
constexpr std::string_view kRefusedRows = "their column \"answer\" is reject or ignore";
constexpr std::string_view kUnfinishedRows = "no annotator has finished them";

// Prodigy's column "answer", whose cells are accept, reject or ignore. Looks at the first rows.
// nullopt: there is none, or it is the text or the label.
std::optional<size_t> find_answer(std::span<const Column> columns, std::span<const Row> rows,
                                  const ColumnChoice& choice);
// Whether a cell of that column says that the row was not accepted.
bool is_refusal(const Cell& cell);

}  // namespace berth
