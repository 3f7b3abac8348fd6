#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"
#include "storage/formats/text_lines.h"

namespace berth {

// Reads plain text: each line is a row, whose only column is "text". Blank lines are skipped. A
// line that is longer than TextLines::kPieceBytes becomes several rows, cut after a space where
// there is one. Bytes that are not UTF-8 are refused with the line's number, after which reading
// may go on, or kept, which breaks what RowReader promises. Not thread-safe.
class LinesReader final : public RowReader {
 public:
  explicit LinesReader(std::unique_ptr<ByteSource> source,
                       Malformed malformed = Malformed::kRefused)
      : lines_(std::move(source), LongLines::kCut, malformed) {}

  std::span<const Column> columns() const override { return columns_; }
  bool next(Row& row) override;
  std::string position() const override { return line_position(lines_.number()); }
  // Warns where the lines rather are a table: objects of JSON, or a line of names first.
  std::vector<Finding> findings() const override;
  // The number of the line that was returned last, counted from 1.
  uint64_t line() const { return lines_.number(); }

 private:
  static bool names_columns(std::string_view line);
  void look_at(std::string_view line);

  TextLines lines_;
  size_t rows_ = 0, objects_ = 0;  // of the first lines; objects of JSON
  bool has_names_ = false;         // whether the first line has names of columns
  const std::vector<Column> columns_ = {{"text", {}}};
};

}  // namespace berth
