#include <chrono>
#include <cstdio>
#include <iostream>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/formats/row_reader.h"
#include "storage/local_storage.h"
#include "storage/storage.h"
#include "tests/support/cells_as_json.h"

// Prints a table for tests/peers/.
//
// rows_as_json FILE            prints a JSON list of the columns' names, and one of the cells of
// each row rows_as_json FILE COLUMN...  reads these columns alone, and prints the number of rows,
// the bytes of
//                              their texts, and the seconds that it took

namespace berth {
namespace {

void print(RowReader& reader) {
  OrderedJson names = OrderedJson::array();
  for (const Column& column : reader.columns()) names.push_back(column.name);
  std::cout << to_text(names) << '\n';
  for (Row row; reader.next(row);) {
    OrderedJson cells = OrderedJson::array();
    for (const Cell& cell : row) cells.push_back(json_of(cell));
    std::cout << to_text(cells) << '\n';
  }
}

void measure(RowReader& reader, char** names, char** end) {
  std::vector<size_t> columns;
  for (; names != end; ++names) columns.push_back(find_column(reader.columns(), *names).value());
  reader.select(columns);
  const auto start = std::chrono::steady_clock::now();
  size_t rows = 0, bytes = 0;
  for (Row row; reader.next(row); ++rows) {
    for (const size_t column : columns) {
      if (const auto* text = std::get_if<std::string>(&row[column])) bytes += text->size();
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%zu %zu %.3f\n", rows, bytes, seconds.count());
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const berth::Uri file = berth::Uri::parse(argv[1]);
    const auto storage = berth::make_local_storage();
    const auto reader = berth::open_rows(storage->open(file), file.file_name());
    argc == 2 ? berth::print(*reader) : berth::measure(*reader, argv + 2, argv + argc);
  } catch (const berth::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return berth::exit_code(error.code());
  }
}
