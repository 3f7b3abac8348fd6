#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"
#include "storage/formats/row_reader.h"

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

}  // namespace berth
