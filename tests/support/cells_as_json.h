#pragma once

#include <nlohmann/json.hpp>

#include "storage/formats/row_reader.h"
#include "tests/support/read_rows.h"

namespace berth {

inline nlohmann::ordered_json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell);
}

// All rows, as the scripts that record tables write them: for each column its categories and cells.
inline nlohmann::ordered_json json_of(RowReader& reader) {
  const auto rows = read_rows(reader);
  auto table = nlohmann::ordered_json::object();
  for (size_t i = 0; i < reader.columns().size(); ++i) {
    const Column& column = reader.columns()[i];
    auto cells = nlohmann::ordered_json::array();
    for (const Row& row : rows) cells.push_back(json_of(row[i]));
    table[column.name] = {{"categories", column.categories}, {"cells", cells}};
  }
  return table;
}

}  // namespace berth
