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
  const JsonObject members(&feature);
  const Json* given = members.list("names");
  if (members.text("_type") != "ClassLabel" || given == nullptr) return names;
  for (const Json& name : *given) {
    if (!name.is_string()) return {};
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

std::map<std::string, std::vector<std::string>> class_names(const std::string& hugging_face) {
  std::map<std::string, std::vector<std::string>> result;
  const Json metadata = parse_json(hugging_face);
  const Json* columns = JsonObject(JsonObject(&metadata).object("info")).object("features");
  if (columns == nullptr) return result;
  for (const auto& [column, feature] : columns->items()) {
    std::vector<std::string> names = names_of(element_feature(feature));
    if (!names.empty()) result.emplace(column, std::move(names));
  }
  return result;
}

namespace {

// The names of the columns in the list `list` whose member `key` begins with `type`.
std::vector<std::string> columns_of(const std::string& text, const char* list, const char* key,
                                    std::string_view type) {
  std::vector<std::string> names;
  const Json metadata = parse_json(text);
  const Json* columns = JsonObject(&metadata).list(list);
  if (columns == nullptr) return names;
  for (const Json& column : *columns) {
    const JsonObject members(&column);
    if (!members.text(key).value_or("").starts_with(type)) continue;
    if (auto name = members.text("name")) names.push_back(*std::move(name));
  }
  return names;
}

}  // namespace

std::vector<std::string> categorical_columns(const std::string& pandas) {
  return columns_of(pandas, "columns", "pandas_type", "categorical");
}

std::vector<std::string> duration_columns(const std::string& pandas) {
  return columns_of(pandas, "columns", "numpy_type", "timedelta64");
}

std::vector<std::string> interval_columns(const std::string& spark) {
  return columns_of(spark, "fields", "type", "interval");
}

bool is_pandas_index(std::string_view name) { return name.starts_with("__index_level_"); }

}  // namespace berth::columnar
