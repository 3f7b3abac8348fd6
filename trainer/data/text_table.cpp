#include "trainer/data/text_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/find_columns.h"

namespace berth {
namespace {

std::optional<int64_t> as_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// A number as tables print them ("1", "1.0"), or nullopt.
std::optional<double> as_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// A cell as the text of a label; nullopt: missing.
std::optional<std::string> label_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    if (text->empty() || *text == "nan" || *text == "NaN") return std::nullopt;
    return *text;
  }
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* boolean = std::get_if<bool>(&cell)) return *boolean ? "True" : "False";
  if (const auto* number = std::get_if<double>(&cell)) {
    if (std::isnan(*number)) return std::nullopt;
    if (*number == std::floor(*number) && std::abs(*number) < 1e15) {
      return std::to_string(static_cast<int64_t>(*number));
    }
    throw Error(Code::kBadData, cat("label ", *number, " is not a class"), "",
                "regression is not supported; give classes as integers or names");
  }
  return std::nullopt;
}

std::optional<std::string> plain_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return cat(*number);
  return label_text(cell);
}

// Labels of a text file are text: integers there (1, 2 or 1.0, 2.0) are made as a typed column has
// them, unless one is too large to be told from its neighbours.
void normalize_integers(std::vector<std::string>& labels) {
  std::map<std::string, std::string> integral;
  bool fractional = false;
  for (const std::string& label : labels) {
    if (integral.contains(label)) continue;
    if (const auto integer = as_integer(label)) {
      integral[label] = std::to_string(*integer);
      continue;
    }
    const auto number = as_number(label);
    if (!number || !(std::abs(*number) < 0x1p53)) return;
    fractional = fractional || *number != std::floor(*number);
    integral[label] = std::to_string(static_cast<int64_t>(*number));
  }
  if (fractional) {
    throw Error(Code::kBadData, "the labels are fractional numbers", "",
                "regression is not supported; give classes as integers or names");
  }
  for (std::string& label : labels) label = integral[label];
}

std::vector<std::string> distinct_labels(const std::vector<std::string>& labels,
                                         const std::vector<std::string>& categories) {
  const std::set<std::string> distinct(labels.begin(), labels.end());
  std::vector<std::string> names;
  for (const std::string& category : categories) {
    if (distinct.contains(category)) names.push_back(category);
  }
  if (names.size() == distinct.size()) return names;

  names.assign(distinct.begin(), distinct.end());
  const bool integers = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return as_integer(name).has_value();
  });
  if (integers) {
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *as_integer(a) < *as_integer(b);
    });
  }
  return names;
}

}  // namespace

FoundColumns TextTableReader::find(std::span<const Column> columns) {
  if (!has_part_) return find_columns(columns, choice_, need_);
  const ColumnChoice& first = table_.columns;
  for (const std::string* name : {&first.text, &first.text_pair, &first.label}) {
    if (name->empty()) continue;
    const bool has = std::any_of(columns.begin(), columns.end(),
                                 [name](const Column& column) { return column.name == *name; });
    if (!has) {
      throw Error(Code::kBadData, "no column " + quoted(*name) + ", which the first file has", "",
                  "all files of a table need the same columns");
    }
  }
  const FoundColumns found = find_columns(columns, first, need_);
  for (const auto& [column, name] :
       {std::pair(found.text_pair, &first.text_pair), std::pair(found.label, &first.label)}) {
    if (column && name->empty()) {
      throw Error(Code::kBadData,
                  "a column " + quoted(columns[*column].name) + ", which the first file lacks", "",
                  "all files of a table need the same columns");
    }
  }
  return found;
}

void TextTableReader::append(RowReader& reader) {
  const std::span<const Column> columns = reader.columns();
  const FoundColumns found = find(columns);
  if (!has_part_) {
    table_.columns.text = columns[found.text].name;
    if (found.text_pair) table_.columns.text_pair = columns[*found.text_pair].name;
    if (found.label) table_.columns.label = columns[*found.label].name;
    has_part_ = true;
  }
  if (found.label) {
    for (const std::string& category : columns[*found.label].categories) {
      const bool known =
          std::find(categories_.begin(), categories_.end(), category) != categories_.end();
      if (!known) categories_.push_back(category);
    }
  }

  const auto take_text = [&reader](const Row& row, size_t column, const std::string& name) {
    std::optional<std::string> text = plain_text(row[column]);
    if (!text)
      throw Error(Code::kBadData, "column " + quoted(name) + " is missing", reader.position());
    return std::move(*text);
  };
  Row row;
  while (reader.next(row)) {
    table_.texts.push_back(take_text(row, found.text, table_.columns.text));
    if (found.text_pair) {
      table_.pairs.push_back(take_text(row, *found.text_pair, table_.columns.text_pair));
    }
    if (!found.label) continue;
    try {
      std::optional<std::string> label = label_text(row[*found.label]);
      if (!label) {
        throw Error(Code::kBadData, "label " + quoted(table_.columns.label) + " is missing", "",
                    "every row needs one: remove the row or fill it in");
      }
      table_.labels.push_back(std::move(*label));
    } catch (const Error& error) {
      throw error.at(reader.position());
    }
  }
}

TextTable TextTableReader::finish() {
  if (table_.texts.empty()) throw Error(Code::kBadData, "has no rows");
  if (!table_.labels.empty()) {
    normalize_integers(table_.labels);
    table_.label_names = distinct_labels(table_.labels, categories_);
  }
  return std::move(table_);
}

TextTable read_text_table(RowReader& reader, const ColumnChoice& choice, LabelNeed need) {
  TextTableReader table(choice, need);
  table.append(reader);
  return table.finish();
}

std::vector<int32_t> label_ids(const TextTable& table, const std::vector<std::string>& names) {
  std::map<std::string_view, int32_t> ids;
  for (size_t i = 0; i < names.size(); ++i) ids.emplace(names[i], static_cast<int32_t>(i));
  std::vector<int32_t> result;
  result.reserve(table.labels.size());
  for (size_t row = 0; row < table.labels.size(); ++row) {
    const auto found = ids.find(table.labels[row]);
    if (found == ids.end()) {
      std::string known;
      for (const std::string& name : names) {
        known += (known.empty() ? "" : ", ") + quoted(name);
        if (known.size() > 200) {
          known += ", ...";
          break;
        }
      }
      throw Error(Code::kBadData, "label " + quoted(table.labels[row]) + " is not one of " + known,
                  cat("row ", row));
    }
    result.push_back(found->second);
  }
  return result;
}

}  // namespace berth
