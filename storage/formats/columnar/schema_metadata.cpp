#include "storage/formats/columnar/schema_metadata.h"

#include <nlohmann/json.hpp>

#include "storage/base/json.h"

namespace berth::columnar {
namespace {

// The feature of the elements, for a list in any of the forms that `datasets` has had.
const Json& element_feature(const Json& feature) {
  const Json* element = &feature;
  while (true) {
    if (element->is_array() && element->size() == 1) {
      element = &element->front();
    } else if (element->is_object() && element->contains("feature")) {
      element = &element->at("feature");
    } else {
      return *element;
    }
  }
}

std::vector<std::string> names_of(const Json& feature) {
  std::vector<std::string> names;
  if (!feature.is_object() || feature.value("_type", Json()) != "ClassLabel") return names;
  const Json given = feature.value("names", Json());
  if (!given.is_array()) return names;
  for (const Json& name : given) {
    if (!name.is_string()) return {};
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

std::map<std::string, std::vector<std::string>> class_names(const std::string& hugging_face) {
  std::map<std::string, std::vector<std::string>> result;
  const Json metadata = parse_json(hugging_face);
  const Json::json_pointer features("/info/features");
  if (!metadata.is_object() || !metadata.contains(features)) return result;
  const Json& columns = metadata.at(features);
  if (!columns.is_object()) return result;
  for (const auto& [column, feature] : columns.items()) {
    std::vector<std::string> names = names_of(element_feature(feature));
    if (!names.empty()) result.emplace(column, std::move(names));
  }
  return result;
}

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
