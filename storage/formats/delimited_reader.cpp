#include "storage/formats/delimited_reader.h"

#include <unordered_set>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

void DelimitedReader::append_field(std::string_view text, Row& fields) {
  if (text.empty()) {
    fields.emplace_back();
  } else {
    fields.emplace_back(std::in_place_type<std::string>, text);
  }
}

bool DelimitedReader::next_record(Row& fields) {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (line.empty());
  record_line_ = lines_.number();
  fields.clear();
  split(line, fields);
  return true;
}

void DelimitedReader::read_header() {
  Row names;
  if (!next_record(names)) throw Error(Code::kBadData, "is empty");
  std::unordered_set<std::string> seen;
  for (Cell& cell : names) {
    auto* text = std::get_if<std::string>(&cell);
    columns_.push_back({text == nullptr ? "" : std::string(trimmed(*text)), {}});
    const std::string& name = columns_.back().name;
    if (!name.empty() && !seen.insert(name).second) {
      throw Error(Code::kBadData, cat("two columns are named ", quoted(name)), position());
    }
  }
}

void DelimitedReader::number_columns() {
  has_first_ = next_record(first_);
  if (!has_first_) throw Error(Code::kBadData, "is empty");
  for (size_t i = 0; i < first_.size(); ++i) columns_.push_back({std::to_string(i), {}});
}

bool DelimitedReader::next(Row& row) {
  if (std::exchange(has_first_, false)) {
    row = std::move(first_);
    return true;
  }
  if (!next_record(row)) return false;
  if (row.size() != columns_.size()) {
    const size_t count = row.size();
    throw Error(Code::kBadData,
                cat("has ", count, count == 1 ? " field" : " fields", ", but the header has ",
                    columns_.size()),
                position());
  }
  return true;
}

}  // namespace berth
