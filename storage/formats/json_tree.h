#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// A JSON value whose objects have their keys in the order of the text, also equal keys. Parsing
// takes linear time; OrderedJson's takes quadratic time in the number of an object's keys.
struct JsonTree {
  enum class Kind { kScalar, kObject, kArray };

  Kind kind = Kind::kScalar;
  Cell scalar{};
  std::vector<std::string> keys{};  // of an object, one for each member
  std::vector<JsonTree> members{};  // or the elements of an array

  // The first member of an object that has this key, or nullptr.
  JsonTree* find(std::string_view key);
  const JsonTree* find(std::string_view key) const;

  // The scalar, or else the value as JSON text.
  Cell to_cell() &&;
};

// Python's json writes NaN, Infinity and -Infinity, which JSON does not have. Returns `text` if it
// has none of them outside of strings. Otherwise returns a copy in `storage` in which they are
// null, "inf" and "-inf", like other missing values and numbers of Python.
std::string_view plain_json(std::string_view text, std::string& storage);

// Throws kBadData, naming the byte, where `text` is no JSON or nests deeper than 256 levels.
JsonTree parse_json_tree(std::string_view text);

// Turns ["text", {"entities": [...]}], a pair as spaCy 2 is trained with, into the object {"text":
// "text", "entities": [...]}. Returns false, and leaves the value as it is, where it is no such
// pair.
bool become_object(JsonTree& pair);

}  // namespace berth
