#include "storage/formats/columnar/pandas_metadata.h"

#include <nlohmann/json.hpp>

#include "storage/base/json.h"

namespace berth::columnar {

std::vector<std::string> categorical_columns(const std::string& pandas) {
  std::vector<std::string> names;
  const Json metadata = parse_json(pandas);
  if (!metadata.is_object() || !metadata.value("columns", Json()).is_array()) return names;
  for (const Json& column : metadata.at("columns")) {
    if (!column.is_object() || column.value("pandas_type", Json()) != "categorical") continue;
    const Json name = column.value("name", Json());
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

bool is_pandas_index(std::string_view name) { return name.starts_with("__index_level_"); }

}  // namespace berth::columnar
