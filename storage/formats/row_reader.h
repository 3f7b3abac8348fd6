#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A value of a table; monostate is missing (None, NaN, NA, NaT, null, an absent key).
using Cell = std::variant<std::monostate, bool, int64_t, double, std::string>;
using Row = std::vector<Cell>;

struct Column {
  std::string name;
  std::vector<std::string> categories;  // of a categorical column, in its order; else empty
};

// The column of exactly this name.
std::optional<size_t> find_column(std::span<const Column> columns, std::string_view name);

// A table read row by row. Not thread-safe. Text is valid UTF-8 (else kBadData, with the position).
class RowReader {
 public:
  virtual ~RowReader() = default;

  virtual std::span<const Column> columns() const = 0;

  // The next row into `row`, resized to columns().size(); false at the end. Throws kBadData or
  // kCorrupt, naming the position, on a row that is not one.
  virtual bool next(Row& row) = 0;

  // Where the row last returned stands: "line 7", or "row 6" (from 0) in a pickle.
  virtual std::string position() const = 0;
};

// How a file's text is laid out.
enum class RowLayout {
  kByName,       // as its suffix says
  kHeadlessTsv,  // GLUE's CoLA
  kWordLines,    // a word and its tag a line (CoNLL)
  kWordsAlone,   // the same, whatever stands behind the word
};

// Picks the reader by the name's suffix, lower-cased (after any compression suffix was removed):
// .csv, .tsv, .jsonl/.ndjson/.json, .conll/.bio/.iob, .pickle/.pkl. Throws kBadData, naming those,
// on another. The errors of the reader do not name the file: the caller adds it with Error::at().
std::unique_ptr<RowReader> open_rows(std::unique_ptr<ByteSource> source, std::string_view file_name,
                                     RowLayout layout = RowLayout::kByName);

// Whether open_rows() has a reader for files of this name.
bool is_table(std::string_view file_name);
// Whether that is one of kWordLines.
bool names_word_lines(std::string_view file_name);

}  // namespace berth
