#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/row_reader.h"

// Rows from JSON texts, one text for each row. The functions are thread-safe, and the readers are
// not.
namespace berth {

// What may stand between the tokens of JSON.
inline constexpr std::string_view kJsonBlanks = " \t\r\n";

// The JSON texts of a table's rows, one after the other.
class JsonTexts {
 public:
  virtual ~JsonTexts() = default;
  // Reads the next text, which stays valid until the next call. Returns false at the end.
  virtual bool next(std::string_view& text) = 0;
  // Where the text that was returned last stands: "line 7".
  virtual std::string position() const = 0;
};

// Makes a row of each text, which must be an object. The columns are as make_jsonl_reader() says.
std::unique_ptr<RowReader> make_json_objects_reader(std::unique_ptr<JsonTexts> texts);

// The elements of a JSON array, whatever lies between them. Only the brackets, the commas between
// elements and the ends of strings are looked at; whoever parses an element finds what is wrong in
// it. Holds one element in memory. next() throws kBadData where an element is longer than 64 MiB,
// and kCorrupt where the array does not end. Positions are "element 7", counted from 1.
std::unique_ptr<JsonTexts> make_array_elements(std::unique_ptr<ByteSource> source);

// A JSON value whose objects have their keys in the order of the text. Parsing takes linear time;
// OrderedJson's takes quadratic time in the number of an object's keys.
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

// Throws kBadData, naming the byte, where `text` is no JSON or nests deeper than 256 levels. Throws
// it, naming the key, where an object has a key twice.
JsonTree parse_json_tree(std::string_view text);

// Throws kBadData, naming the key, where an object in `text` has a key twice: Python takes the last
// value, and other programs take the first one or refuse the text. Stops where `text` is no JSON.
void refuse_repeated_keys(std::string_view text);

// Turns ["text", {"entities": [...]}], a pair as spaCy 2 is trained with, into the object {"text":
// "text", "entities": [...]}. Returns false, and leaves the value as it is, where it is no such
// pair.
bool become_object(JsonTree& pair);

}  // namespace berth
