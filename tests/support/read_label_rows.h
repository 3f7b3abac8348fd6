#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/rows_in_memory.h"
#include "trainer/data/table_loader.h"

namespace berth {

inline const std::vector<Column> kLabelColumns = {{"text", {}}, {"labels", {}}};

// What becomes of a table with these labels.
struct ReadLabels {
  Task task;
  std::vector<std::string> names{};
  std::vector<std::vector<std::string>> sets{};
  std::vector<float> scores{};
  std::string rules{}, says{};
};

inline ReadLabels read_label_rows(const std::vector<Cell>& labels, LoadRules rules = {},
                                  bool has_types = false,
                                  const std::vector<Column>& columns = kLabelColumns) {
  std::vector<Row> rows;
  for (const Cell& label : labels) {
    rows.push_back({"some text", label});
    rows.back().resize(columns.size(), "another text");
  }
  TableLoader loader(rules);
  loader.append_rows(std::make_unique<RowsInMemory>(columns, rows, has_types));
  const auto table = loader.finish();
  ReadLabels result{.task = loader.task(), .names = table->labels.names()};
  for (uint32_t row = 0; row < table->rows(); ++row) {
    const Example example = table->read(row);
    auto& set = result.sets.emplace_back();
    for (const int32_t entry : example.labels) set.push_back(table->labels.name_of(entry));
    result.scores.push_back(example.score);
  }
  for (const Finding& found : loader.findings()) {
    if (!found.rule.empty()) result.rules += found.rule + ";";
    result.says += (found.is_warning ? "warning: " : "") + found.text + "\n";
  }
  return result;
}

inline std::vector<Cell> label_cells(const std::vector<std::string>& cells) {
  return {cells.begin(), cells.end()};
}

}  // namespace berth
