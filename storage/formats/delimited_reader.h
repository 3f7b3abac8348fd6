#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/formats/row_reader.h"
#include "storage/formats/text_lines.h"

// What CSV and TSV have in common. A reader belongs to one thread, and find_tsv_quotes() is thread-
// safe. Malformed rows are kBadData.
namespace berth {

// Reads a text table with one record per line and a header. This is what CSV and TSV have in
// common. Blank lines between records are skipped, and so is a record that repeats the header,
// which files that were joined to one have. An empty field is a missing value.
class DelimitedReader : public RowReader {
 public:
  std::span<const Column> columns() const final { return columns_; }
  bool next(Row& row) final;
  std::string position() const final { return line_position(record_line_); }
  bool is_of_texts() const final { return true; }
  std::vector<Finding> findings() const override;
  void add_finding(Finding finding) { findings_.push_back(std::move(finding)); }

 protected:
  explicit DelimitedReader(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  // Takes the column names from the first record and trims them. Throws kBadData if there is no
  // record, or if two columns have the same name. Several columns may have an empty name, because
  // pandas writes its index that way.
  void read_header();
  // For a text without a header: creates as many columns as the first record has fields, with the
  // names 0, 1, ...
  void number_columns();

  // Splits the record that begins with `line` into `fields`. May read further lines from lines_.
  virtual void split(std::string_view line, Row& fields) = 0;

  static void append_field(std::string_view text, Row& fields);

  TextLines lines_;

 private:
  bool next_record(Row& fields);
  bool repeats_header(const Row& row) const;
  [[noreturn]] void refuse_fields(const Row& row) const;

  std::vector<Column> columns_;
  std::vector<Finding> findings_;
  uint64_t record_line_ = 0;
  Row first_;  // read by number_columns() and not returned yet
  bool has_first_ = false;
  bool has_header_ = false;
  uint64_t repeated_header_ = 0;  // the line of the first record that repeats it; 0: none does
};

enum class TsvQuotes {
  kNone,  // no field begins with a quote
  kText,  // quotes are a part of the texts, as in GLUE's files
  kCsv,   // fields are quoted by CSV's rules, as pandas quotes them
};

// Looks at the beginning of a table with `delimiter` between its fields. CSV's writers quote a
// field that contains a quote, a delimiter or a line end, or they quote all fields of a column.
// They double the quotes inside. So quotes are text if one field breaks these rules, or if no field
// shows that the rules are followed. `is_all`: the text is all of the table, and not cut anywhere.
TsvQuotes find_tsv_quotes(std::string_view text, char delimiter, bool is_all);

}  // namespace berth
