#include "storage/formats/delimited_reader.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// For each file that was joined to another one.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view text_of(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string_view() : trimmed(*text);
}

// Why a row may have more or fewer fields than the header. Empty: it cannot be known.
std::string why_not_as_many(const Row& row, size_t names) {
  const auto any = [&](const auto& says) { return std::ranges::any_of(row, says); };
  const auto begins_quote = [](const Cell& cell) { return text_of(cell).starts_with('"'); };
  if (row.size() < names) {
    const bool has_delimiter =
        row.size() == 1 && text_of(row[0]).find_first_of(",;\t|") != std::string_view::npos;
    return has_delimiter ? "the line may be in quotes as a whole, or have another delimiter than "
                           "the header: --delimiter names it, and each field has its own quotes"
                         : "";
  }
  if (any(begins_quote)) {
    return "a quote encloses a field only where it follows the delimiter without a blank";
  }
  if (any([](const Cell& cell) { return text_of(cell).starts_with('\''); })) {
    return "fields are enclosed in double quotes, not in single ones";
  }
  if (any([](const Cell& cell) { return text_of(cell).ends_with('\\'); })) {
    return "a backslash does not escape the delimiter: enclose such a field in double quotes";
  }
  if (row.size() == names + 1) {
    return "if the text holds the delimiter, enclose it in double quotes; if each line has a field "
           "more, give it a name in the header";
  }
  return "if the text holds the delimiter, enclose it in double quotes";
}

}  // namespace

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
    std::string_view title = text == nullptr ? std::string_view() : trimmed(*text);
    while (title.starts_with(kByteOrderMark)) title.remove_prefix(kByteOrderMark.size());
    columns_.push_back({std::string(title), {}});
    const std::string& name = columns_.back().name;
    if (!name.empty() && !seen.insert(name).second) {
      throw Error(Code::kBadData, cat("two columns are named ", quoted(name)), position(),
                  "give each column a name of its own in the first line");
    }
  }
  has_header_ = true;
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
  do {
    if (!next_record(row)) return false;
    if (!repeats_header(row)) break;
    if (repeated_header_ == 0) repeated_header_ = record_line_;
  } while (true);
  if (row.size() != columns_.size()) refuse_fields(row);
  return true;
}

// A single word may also be a text. Two and more columns have no row like their names.
bool DelimitedReader::repeats_header(const Row& row) const {
  if (!has_header_ || row.size() != columns_.size()) return false;
  size_t names = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    std::string_view text = text_of(row[i]);
    if (i == 0 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (text != columns_[i].name) return false;
    names += !text.empty();
  }
  return names > 1;
}

void DelimitedReader::refuse_fields(const Row& row) const {
  throw Error(Code::kBadData,
              cat("has ", row.size(), row.size() == 1 ? " field" : " fields",
                  ", but the header has ", columns_.size()),
              position(), why_not_as_many(row, columns_.size()));
}

std::vector<Finding> DelimitedReader::findings() const {
  std::vector<Finding> found = findings_;
  if (repeated_header_ > 0) {
    found.push_back({"headers between rows are left out",
                     cat("the header stands again on ", line_position(repeated_header_),
                         ", as where files were joined; such a line is no row"),
                     /*is_warning=*/true});
  }
  return found;
}

}  // namespace berth
