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
#include "storage/formats/text_form.h"

namespace berth {

// One value of a table. monostate means missing (None, NaN, NA, NaT, null, an absent key).
using Cell = std::variant<std::monostate, bool, int64_t, double, std::string>;
using Row = std::vector<Cell>;

// The text of a cell, without the blanks around it. Empty where the cell holds something else.
std::string_view trimmed_text(const Cell& cell);

struct Column {
  std::string name;
  std::vector<std::string> categories;  // of a categorical column, in its order; otherwise empty
  // What the column holds, in the plural, if its values, or some of them, have no form as cells and
  // so are missing: "unions". Otherwise empty.
  std::string unreadable{};
  // Whether a cell that was read, or will be, is the JSON text of a list or object of the file.
  // Where a format has no types, a list is a text as others are.
  bool is_nested = false;
  // Whether the categories are the classes that the file declares, as ClassLabel of `datasets`
  // does. All of them count, even classes that no row has.
  bool declares_classes = false;
  // Whether the values are bytes that need not be text. Bytes that are not UTF-8 are missing cells.
  bool holds_bytes = false;
  // Whether it is a level of the index of a pickled table, which earlier versions did not read.
  bool is_index = false;
};

// Returns the index of the column with exactly this name.
std::optional<size_t> find_column(std::span<const Column> columns, std::string_view name);

// What a reader found out about a file whose name does not say it.
struct Finding {
  // The rule by which the rows are read, in a few words for job.json; these words never change.
  // Empty if all versions of the program read such files in the same way.
  std::string rule;
  std::string text;  // a sentence for the log
  bool is_warning = false;
  // The sentence for a log that shows no text of the rows. Empty: `text` has no such text.
  std::string without_texts{};
};

// A warning of data that are read as they stand, by no rule of its own.
inline Finding warning(std::string text, std::string without_texts = {}) {
  return {.rule = {},
          .text = std::move(text),
          .is_warning = true,
          .without_texts = std::move(without_texts)};
}

// Reads a table row by row. All text is valid UTF-8; anything else throws kBadData with the
// position. Not thread-safe.
class RowReader {
 public:
  virtual ~RowReader() = default;

  virtual std::span<const Column> columns() const = 0;

  // Reads the next row into `row` and resizes it to columns().size(). Returns false at the end.
  // Throws kBadData or kCorrupt, naming the position, if the row is malformed.
  virtual bool next(Row& row) = 0;

  // Says which columns the caller looks at. The others may be missing from then on, which saves
  // some formats the work of reading them.
  virtual void select(std::span<const size_t> /*columns*/) {}

  // The position of the row that was returned last: "line 7", or "row 6" (counted from 0) in a
  // pickle.
  virtual std::string position() const = 0;

  // Whether all cells are texts because the format has no types: CSV and TSV. Numbers and missing
  // values are then known by what the texts say.
  virtual bool is_of_texts() const { return false; }

  // How many rows are left, where the file says so. Rows that take no bytes may be any number.
  virtual std::optional<uint64_t> rows_left() const { return std::nullopt; }

  // What the reader has found out until now; complete after the last row.
  virtual std::vector<Finding> findings() const { return {}; }
};

// How a file's text is laid out.
enum class RowLayout {
  kByName,       // decided by the suffix of the name
  kHeadlessTsv,  // without a header, as GLUE's CoLA
  kWordLines,    // one word and its tag per line (CoNLL)
  kWordsAlone,   // the same, but tags are ignored
  kDocuments,    // plain text, with a blank line between documents
};

// Opens the reader for the name's suffix, ignoring case. The caller has removed any compression
// suffix. Known are .csv, .tsv, .jsonl/.ndjson/.json, .conll/.conllu/.bio/.iob, .pickle/.pkl,
// .parquet/.pq, .arrow/.arrows/.feather/.ipc, .npz/.npy and .txt; any other throws kBadData, which
// lists them. So does a table of more than 100,000 columns. The reader's errors do not name the
// file: the caller adds it with Error::at(). `form` is for formats of text.
std::unique_ptr<RowReader> open_rows(std::unique_ptr<ByteSource> source, std::string_view file_name,
                                     RowLayout layout = RowLayout::kByName, TextForm form = {});

// The rows of `rows`, which are read from a file of `file_bytes`. A small file can repeat one long
// text in any number of rows, by a dictionary or by compression. A caller that stores the rows
// would fill its disk. So all rows together may have 128 bytes of text for each byte of the file.
// One KiB for each row is added, for names of categories. Beyond that, next() throws kBadData.
std::unique_ptr<RowReader> with_bounded_text(std::unique_ptr<RowReader> rows, uint64_t file_bytes);

// Whether open_rows() has a reader for files of this name.
bool is_table(std::string_view file_name);
// Whether a table of this name is text, such as .csv; also if the name means no table.
bool holds_text(std::string_view file_name);
// Whether the name means plain text, a row in each line (.txt).
bool is_plain_text(std::string_view file_name);
// Whether the name's suffix means kWordLines.
bool names_word_lines(std::string_view file_name);

}  // namespace berth
