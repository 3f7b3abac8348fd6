#include "trainer/loop/folder_columns.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/text.h"
#include "trainer/loop/named_splits.h"

namespace berth {
namespace {

// "a b" of "a%20b". A malformed escape stays as it is.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const begin = text.data() + i + 1;
    const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                           std::from_chars(begin, begin + 2, value, 16).ptr == begin + 2;
    plain += is_escape ? static_cast<char>(value) : text[i];
    i += is_escape ? 2 : 0;
  }
  return plain;
}

class FolderColumns final : public RowReader {
 public:
  FolderColumns(std::unique_ptr<RowReader> rows, std::vector<std::pair<std::string, Cell>> added)
      : rows_(std::move(rows)), added_(std::move(added)), used_(added_.size()) {
    columns_.assign(rows_->columns().begin(), rows_->columns().end());
    for (const auto& [name, value] : added_) columns_.push_back({name, {}});
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return rows_->position(); }
  bool is_of_texts() const override { return rows_->is_of_texts(); }
  std::optional<uint64_t> rows_left() const override { return rows_->rows_left(); }

  void select(std::span<const size_t> columns) override {
    const size_t own = rows_->columns().size();
    std::vector<size_t> inner;
    for (const size_t column : columns) {
      if (column < own) {
        inner.push_back(column);
      } else {
        used_[column - own] = true;
      }
    }
    rows_->select(inner);
  }

  bool next(Row& row) override {
    if (!rows_->next(row)) return false;
    for (const auto& [name, value] : added_) row.push_back(value);
    return true;
  }

  std::vector<Finding> findings() const override {
    std::vector<Finding> found = rows_->findings();
    for (size_t i = 0; i < added_.size(); ++i) {
      if (!used_[i]) continue;
      found.push_back(
          {"columns in names of folders",
           cat("column ", quoted(added_[i].first), " is what the names of the folders say, as in ",
               added_[i].first, "=VALUE")});
    }
    return found;
  }

 private:
  const std::unique_ptr<RowReader> rows_;
  const std::vector<std::pair<std::string, Cell>> added_;
  std::vector<bool> used_;
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<RowReader> with_folder_columns(std::unique_ptr<RowReader> rows,
                                               std::string_view path) {
  std::vector<std::pair<std::string, Cell>> added;
  for (size_t end; (end = path.find('/')) != path.npos; path.remove_prefix(end + 1)) {
    const std::string_view folder = path.substr(0, end);
    const size_t mark = folder.find('=');
    if (mark == 0 || mark == folder.npos) continue;
    std::string name = unescaped(folder.substr(0, mark));
    if (find_column(rows->columns(), name) || !named_split(folder).empty()) continue;
    const std::string_view value = folder.substr(mark + 1);
    Cell cell;
    if (value != "__HIVE_DEFAULT_PARTITION__") cell = unescaped(value);
    added.emplace_back(std::move(name), std::move(cell));
  }
  if (added.empty()) return rows;
  return std::make_unique<FolderColumns>(std::move(rows), std::move(added));
}

}  // namespace berth
