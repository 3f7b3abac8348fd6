#include <algorithm>
#include <optional>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/columnar/schema_metadata.h"
#include "storage/formats/damage.h"
#include "storage/formats/parquet/column_reader.h"
#include "storage/formats/parquet/parquet_metadata.h"
#include "storage/formats/row_readers.h"

namespace berth {
namespace {

using namespace parquet;

class ParquetReader final : public RowReader {
 public:
  explicit ParquetReader(std::unique_ptr<RandomAccessSource> file)
      : file_(std::move(file)),
        metadata_(read_metadata(*file_->view())),
        tree_(make_columns(metadata_.schema)) {
    auto names = class_names(metadata_.hugging_face);
    for (const SchemaNode& node : tree_) {
      const std::string& name = node.element.name;
      if (is_pandas_index(name)) continue;
      if (find_column(columns_, name)) {
        throw Error(Code::kBadData, "has two columns called " + quoted(name));
      }
      columns_.push_back({.name = name, .categories = names[name]});
      columns_.back().is_nested = !node.is_leaf();
      columns_.back().declares_classes = !names[name].empty();
      assemblies_.emplace_back(node, std::move(names[name]));
    }
    if (columns_.empty()) throw Error(Code::kBadData, "has no columns");
    for (const std::string& name : categorical_columns(metadata_.pandas)) find_categories(name);
    is_selected_.assign(columns_.size(), true);
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", row_ - 1); }
  std::optional<uint64_t> rows_left() const override {
    return static_cast<uint64_t>(metadata_.rows) - row_;
  }

  void select(std::span<const size_t> columns) override {
    is_selected_.assign(columns_.size(), false);
    for (const size_t column : columns) is_selected_.at(column) = true;
  }

  bool next(Row& row) override {
    while (rows_left_ == 0) {
      if (!next_group()) return false;
    }
    --rows_left_;
    ++row_;
    row.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) read_cell(i, row[i]);
    return true;
  }

 private:
  // The values of the first dictionary are the categories, in their order.
  void find_categories(const std::string& name) {
    const auto column = find_column(columns_, name);
    if (!column || metadata_.row_groups.empty() || !columns_[*column].categories.empty()) return;
    columns_[*column].categories =
        assemblies_[*column].dictionary(*file_, metadata_.row_groups.front());
  }

  bool next_group() {
    if (group_ > 0) {
      require_end();
      release(metadata_.row_groups[group_ - 1]);
    }
    if (group_ == metadata_.row_groups.size()) return false;
    const RowGroup& group = metadata_.row_groups[group_++];
    opened_ = is_selected_;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (opened_[i]) assemblies_[i].open(*file_, group);
    }
    rows_left_ = group.rows;
    return true;
  }

  // The last page of each column, and what was read along with the pages.
  void release(const RowGroup& group) {
    auto begin = static_cast<int64_t>(file_->size()), end = int64_t{0};
    for (const ColumnChunk& chunk : group.columns) {
      if (chunk.values == 0) continue;  // its place may be anything
      begin = std::min(begin, chunk.begin);
      end = std::max(end, chunk.begin + chunk.size);
    }
    if (begin >= end) return;
    file_->release(static_cast<uint64_t>(begin), static_cast<uint64_t>(end - begin));
  }

  void require_end() const {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (opened_[i] && is_selected_[i]) assemblies_[i].require_end();
    }
  }

  void read_cell(size_t column, Cell& cell) {
    if (!opened_[column] || !is_selected_[column]) {
      cell = std::monostate();
      return;
    }
    try {
      assemblies_[column].next(cell);
    } catch (const Error& error) {
      throw error.at(cat(position(), ": column ", quoted(columns_[column].name)));
    }
  }

  const std::unique_ptr<RandomAccessSource> file_;
  const FileMetadata metadata_;
  const std::vector<SchemaNode> tree_;
  std::vector<Column> columns_;
  std::vector<ColumnAssembly> assemblies_;
  std::vector<bool> is_selected_, opened_;  // opened_: in the current row group
  size_t group_ = 0;                        // of the next row group
  int64_t rows_left_ = 0;                   // in the current one
  uint64_t row_ = 0;                        // rows that were read
};

}  // namespace

std::unique_ptr<RowReader> make_parquet_reader(std::unique_ptr<RandomAccessSource> file) {
  return std::make_unique<ParquetReader>(std::move(file));
}

}  // namespace berth
