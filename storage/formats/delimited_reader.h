#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"
#include "storage/formats/text_lines.h"

namespace berth {

// A text table with a header: what CSV and TSV share. Blank lines between records are skipped, and
// an empty field is missing.
class DelimitedReader : public RowReader {
 public:
  std::span<const Column> columns() const final { return columns_; }
  bool next(Row& row) final;
  std::string position() const final { return line_position(record_line_); }

 protected:
  explicit DelimitedReader(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  // Makes the first record the columns, their names without blanks around them. Throws kBadData
  // when there is none, or when it names two columns alike (pandas' unnamed index column is an
  // empty name).
  void read_header();
  // Of a text without a header: as many columns as the first record has fields, named 0, 1, ...
  void number_columns();

  // Splits the record that begins with `line` into `fields`; it may take more lines.
  virtual void split(std::string_view line, Row& fields) = 0;

  static void append_field(std::string_view text, Row& fields);

  TextLines lines_;

 private:
  bool next_record(Row& fields);

  std::vector<Column> columns_;
  uint64_t record_line_ = 0;
  Row first_;  // read by number_columns(), not yet returned
  bool has_first_ = false;
};

}  // namespace berth
