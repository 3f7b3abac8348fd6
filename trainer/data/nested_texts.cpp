#include "trainer/data/nested_texts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/data/text_list.h"

namespace berth {
namespace {

bool names_words(std::string_view column) {
  constexpr std::string_view kNames[] = {"tokens", "words", "token", "word"};
  return std::ranges::find(kNames, lower_ascii(column)) != std::end(kNames);
}

// "text", "score": the keys of an object, for messages.
std::string fields_of(const Json& object) {
  std::string fields;
  size_t count = 0;
  for (const auto& [name, value] : object.items()) {
    if (++count > 10) return fields + ", ...";
    fields += (fields.empty() ? "" : ", ") + quoted(name);
  }
  return fields;
}

}  // namespace

void refuse_nested(const std::string& column, std::string_view cell, const char* what) {
  const Json value = parse_json(cell);
  const bool is_list = value.is_array();
  const Json& object = is_list && !value.empty() ? value.front() : value;
  std::string holds = "lists";
  if (object.is_object()) {
    holds = cat(is_list ? "lists of objects" : "objects", " with the fields ", fields_of(object));
  }
  throw Error(Code::kBadData, cat("column ", quoted(column), " holds ", holds, ", not ", what), "",
              object.is_object()
                  ? "write the field that is meant as a column of its own, outside of the object"
                  : "join each list to one text, or name another column");
}

std::optional<std::string> joined_words(const Column& column, std::string_view cell,
                                        bool are_texts) {
  const bool may_be_list = are_texts ? names_words(column.name) : column.is_nested;
  if (!may_be_list || !begins_list(cell)) return std::nullopt;
  const auto words = names_words(column.name) ? parse_text_list(cell) : std::nullopt;
  if (!words && are_texts) return std::nullopt;
  if (!words) refuse_nested(column.name, cell, "texts");
  std::string text;
  for (const std::string& word : *words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

}  // namespace berth
