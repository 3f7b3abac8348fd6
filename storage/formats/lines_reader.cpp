#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"

namespace berth {
namespace {

class LinesReader final : public RowReader {
 public:
  explicit LinesReader(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  std::span<const Column> columns() const override { return columns_; }

  bool next(Row& row) override {
    for (std::string_view line; lines_.next(line);) {
      if (trimmed(line).empty()) continue;
      row.assign(1, std::string(line));
      return true;
    }
    return false;
  }

  std::string position() const override { return line_position(lines_.number()); }

 private:
  TextLines lines_;
  const std::vector<Column> columns_ = {{"text", {}}};
};

}  // namespace

std::unique_ptr<RowReader> make_lines_reader(std::unique_ptr<ByteSource> source) {
  return std::make_unique<LinesReader>(std::move(source));
}

}  // namespace berth
