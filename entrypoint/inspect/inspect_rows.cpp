#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "entrypoint/inspect/column_summary.h"
#include "entrypoint/inspect/inspect.h"
#include "storage/archive.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/tf_example.h"
#include "storage/formats/tfrecord.h"
#include "trainer/loop/plain_records.h"

namespace berth {
namespace {

constexpr size_t kFirst = 5;           // how many rows are shown
constexpr size_t kWholeCell = 200;     // the characters of a cell for machines
constexpr size_t kShownCell = 60;      // the characters of a cell for people
constexpr size_t kShownElements = 12;  // the elements of an array for people
// Rows that take next to no bytes are counted, and not read: a file of 300 bytes may say that it
// has 2^62 rows of nulls.
constexpr uint64_t kReadRows = 1'000'000, kReadRowsOfByte = 64;

OrderedJson to_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return cut_text(*text, kWholeCell);
  if (const auto* number = std::get_if<int64_t>(&cell)) return *number;
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag;
  if (const auto* real = std::get_if<double>(&cell); real != nullptr && std::isfinite(*real)) {
    return *real;
  }
  return nullptr;
}

// The object for machines. Each row is an array in the order of the columns. `counted` rows of
// `rows` were not read.
std::string json_text(const std::string& format, uint64_t rows,
                      const std::vector<std::string>& columns, const OrderedJson& first,
                      uint64_t counted = 0) {
  OrderedJson object = {{"format", format}, {"rows", rows}, {"columns", columns}, {"first", first}};
  if (counted > 0) object["rows_read"] = rows - counted;
  return to_text(object);
}

std::string heading(const Uri& uri, const std::string& format, uint64_t rows, size_t columns) {
  return cat(uri.to_string(), ": ", format, ", ", grouped(rows), rows == 1 ? " row, " : " rows, ",
             columns, columns == 1 ? " column" : " columns", "\n");
}

std::string column_lines(const std::vector<std::string>& names,
                         const std::vector<ColumnSummary>& summaries) {
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += cat("  ", names[i], std::string(width - names[i].size() + 2, ' '), summaries[i].text(),
                "\n");
  }
  return text;
}

// "df.csv.gz" -> "csv".
std::string table_format(const Uri& uri) {
  const std::string name = lower_ascii(without_compression_suffix(uri.file_name()));
  const std::string suffix = name.substr(std::min(name.rfind('.') + 1, name.size()));
  if (suffix == "pkl") return "pickle";
  if (suffix == "pq") return "parquet";
  return suffix == "ndjson" ? "jsonl" : suffix;
}

std::string elements_text(const OrderedJson& array) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(array.size(), kShownElements); ++i) {
    text += (i == 0 ? "" : ", ") + to_text(array[i]);
  }
  return text + (array.size() > kShownElements ? ", ...]" : "]");
}

OrderedJson to_json(const TfFeature& feature) {
  OrderedJson array = OrderedJson::array();
  if (const auto* texts = std::get_if<std::vector<std::string>>(&feature.values)) {
    for (const std::string& text : *texts) array.push_back(cut_text(text, kWholeCell));
  } else if (const auto* reals = std::get_if<std::vector<float>>(&feature.values)) {
    for (const float real : *reals) {
      array.push_back(std::isfinite(real) ? OrderedJson(static_cast<double>(real)) : OrderedJson());
    }
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&feature.values)) {
    array = *numbers;
  }
  return array;
}

}  // namespace

Inspection inspect_table(Storage& storage, const Uri& uri, TextForm form) {
  form.tags = "any";
  const auto reader =
      open_rows(decompress(storage.open(uri), compression_of(uri.file_name())),
                without_compression_suffix(uri.file_name()), RowLayout::kByName, form);
  std::vector<std::string> names;
  for (const Column& column : reader->columns()) names.push_back(column.name);
  std::vector<ColumnSummary> summaries(names.size());
  OrderedJson first = OrderedJson::array();
  std::string shown;
  const uint64_t bytes = storage.stat(uri).value_or(Stat()).size;
  uint64_t rows = 0, counted = 0;
  for (Row row; reader->next(row); ++rows) {
    for (size_t i = 0; i < row.size(); ++i) summaries[i].add(row[i]);
    if (rows >= kReadRows && (rows - kReadRows) / kReadRowsOfByte >= bytes) {
      if (const auto left = reader->rows_left(); left && *left > 0) {
        counted = *left;
        rows += counted + 1;
        break;
      }
    }
    if (rows >= kFirst) continue;
    OrderedJson cells = OrderedJson::array();
    for (const Cell& cell : row) {
      cells.push_back(to_json(cell));
      shown += cat(cells.size() == 1 ? "  " : " | ", cell_text(cell, kShownCell));
    }
    shown += "\n";
    first.push_back(cells);
  }
  const std::string format = table_format(uri);
  const std::string unread = cat("only the first ", grouped(rows - counted), " rows were read\n");
  return {.text = cat(heading(uri, format, rows, names.size()), counted > 0 ? unread : "",
                      column_lines(names, summaries), rows > 0 ? "first rows\n" : "", shown),
          .json = json_text(format, rows, names, first, counted)};
}

Inspection inspect_records(Storage& storage, const Uri& uri) {
  TfRecordReader records(
      plain_records(decompress(storage.open(uri), compression_of(uri.file_name()))));
  std::vector<std::string> names;
  std::vector<ColumnSummary> summaries;
  std::vector<std::vector<OrderedJson>> first;  // by row and column
  uint64_t rows = 0;
  for (std::vector<std::byte> record; records.next(record); ++rows) {
    std::vector<TfFeature> features;
    try {
      features = parse_tf_example(record);
    } catch (const Error& error) {
      throw error.at(cat("record at byte ", records.offset()));
    }
    if (rows < kFirst) first.emplace_back();
    for (const TfFeature& feature : features) {
      size_t column =
          static_cast<size_t>(std::find(names.begin(), names.end(), feature.name) - names.begin());
      if (column == names.size()) {
        names.push_back(feature.name);
        summaries.emplace_back();
      }
      const OrderedJson array = to_json(feature);
      summaries[column].add_array(array.size());
      if (rows >= kFirst) continue;
      first.back().resize(std::max(first.back().size(), column + 1));
      first.back()[column] = array;
    }
  }
  std::string shown;
  OrderedJson rows_json = OrderedJson::array();
  for (std::vector<OrderedJson>& row : first) {
    row.resize(names.size());
    for (size_t i = 0; i < row.size(); ++i) {
      shown += cat(i == 0 ? "  " : "    ", names[i], " ",
                   row[i].is_null() ? "-" : elements_text(row[i]), "\n");
    }
    rows_json.push_back(row);
  }
  return {.text = cat(heading(uri, "tfrecord", rows, names.size()), column_lines(names, summaries),
                      rows > 0 ? "first rows\n" : "", shown),
          .json = json_text("tfrecord", rows, names, rows_json)};
}

}  // namespace berth
