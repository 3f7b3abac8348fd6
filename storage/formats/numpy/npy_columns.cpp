#include "storage/formats/numpy/npy_columns.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/numpy/npy_header.h"
#include "storage/formats/pickle.h"

namespace berth {
namespace {

constexpr uint64_t kLargestRowBytes = uint64_t{64} << 20, kLongestList = uint64_t{1} << 20;
constexpr uint64_t kBlockBytes = uint64_t{64} << 10;

OrderedJson to_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<int64_t>(&cell)) return *whole;
  if (const auto* truth = std::get_if<bool>(&cell)) return *truth;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return nullptr;
}

// Arrays whose elements lie in the file one after the other.
class PackedRows final : public RowReader {
 public:
  PackedRows(std::unique_ptr<ByteSource> file, NpyHeader header, uint64_t rows, uint64_t width,
             const std::string& name)
      : file_(std::move(file)), header_(std::move(header)), rows_(rows), width_(width) {
    for (const NpyHeader::Field& field : header_.fields) {
      columns_.push_back(
          {header_.is_structured ? field.name : name, {}, unreadable_values(field.dtype)});
      columns_.back().is_nested = width_ > 0;
    }
    is_selected_.assign(columns_.size(), true);
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", row_ == 0 ? 0 : row_ - 1); }

  void select(std::span<const size_t> columns) override {
    is_selected_.assign(columns_.size(), false);
    for (const size_t column : columns) is_selected_.at(column) = true;
  }

  bool next(Row& row) override {
    if (row_ == rows_) {
      std::byte more;  // at the end of its content the source compares a checksum
      if (file_->read(std::span(&more, 1)) != 0) fail_damaged("bytes follow the array");
      return false;
    }
    ++row_;
    const std::byte* const bytes = next_bytes();
    row.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (is_selected_[i]) {
        read_cell(i, bytes, row[i]);
      } else {
        row[i] = std::monostate();
      }
    }
    return true;
  }

 private:
  uint64_t row_bytes() const { return header_.item_size * std::max<uint64_t>(width_, 1); }

  const std::byte* next_bytes() {
    if (place_ == block_.size()) {
      const uint64_t rows = std::min(rows_ - row_ + 1, 1 + kBlockBytes / row_bytes());
      block_.resize(rows * row_bytes());
      place_ = 0;
      try {
        read_fully(*file_, block_);
      } catch (const Error& error) {
        throw error.at(position());
      }
    }
    place_ += row_bytes();
    return block_.data() + place_ - row_bytes();
  }

  void read_cell(size_t column, const std::byte* bytes, Cell& cell) {
    const NpyHeader::Field& field = header_.fields[column];
    try {
      if (width_ == 0) return read_element(field.dtype, bytes + field.offset, cell);
      OrderedJson list = OrderedJson::array();
      for (uint64_t i = 0; i < width_; ++i) {
        read_element(field.dtype, bytes + i * header_.item_size, element_);
        list.push_back(to_json(element_));
      }
      cell = to_text(list);
    } catch (const Error& error) {
      throw error.at(cat("column ", quoted(columns_[column].name))).at(position());
    }
  }

  const std::unique_ptr<ByteSource> file_;
  const NpyHeader header_;
  const uint64_t rows_, width_;  // width_: elements of a list, 0: no lists
  std::vector<Column> columns_;
  std::vector<bool> is_selected_;
  uint64_t row_ = 0;              // rows that were read
  std::vector<std::byte> block_;  // some rows
  size_t place_ = 0;              // in block_, of the next row
  Cell element_;
};

[[noreturn]] void refuse_shape(const NpyHeader& header) {
  throw Error(Code::kBadData,
              cat("is an array of ", header.shape.size(), " dimensions, and berth reads 1 or 2"));
}

NpyColumns open_packed(std::unique_ptr<ByteSource> file, uint64_t size_bytes, NpyHeader header,
                       const std::string& name) {
  const bool is_list = header.shape.size() == 2 && !header.is_structured;
  if (header.shape.size() != 1 && !is_list) refuse_shape(header);
  const uint64_t rows = header.shape[0], width = is_list ? header.shape[1] : 0;
  if (is_list && header.is_column_major && rows > 1) {
    throw Error(Code::kBadData, "is an array in Fortran's order", "",
                "save numpy.ascontiguousarray() of it");
  }
  if (header.fields.empty()) throw Error(Code::kBadData, "is an array of records without fields");
  if (is_list && width == 0) throw Error(Code::kBadData, "is an array of empty lists");
  uint64_t row_bytes = 0, bytes = 0;
  if (__builtin_mul_overflow(header.item_size, std::max<uint64_t>(width, 1), &row_bytes) ||
      row_bytes > kLargestRowBytes || width > kLongestList) {
    throw Error(Code::kBadData, "is an array with rows of more than 64 MiB or a million elements");
  }
  if (__builtin_mul_overflow(row_bytes, rows, &bytes) || bytes != size_bytes - header.size_bytes) {
    fail_damaged(cat("holds ", size_bytes - header.size_bytes, " bytes of an array with ", rows,
                     " rows of ", row_bytes, " bytes"));
  }
  return {std::make_unique<PackedRows>(std::move(file), std::move(header), rows, width, name),
          rows};
}

std::string own_name(const NpyHeader& header) {
  const char kind = header.fields.empty() ? 'V' : header.fields.front().dtype.kind;
  return kind == 'U' || kind == 'S' || kind == 'O' ? "text" : "value";
}

}  // namespace

NpyColumns open_npy(std::unique_ptr<ByteSource> file, uint64_t size_bytes, std::string name) {
  NpyHeader header = read_npy_header(*file);
  if (header.size_bytes > size_bytes) fail_damaged("an array ends too early");
  if (name.empty()) name = own_name(header);
  const bool holds_objects = !header.is_structured && header.fields.front().dtype.kind == 'O';
  if (!holds_objects) return open_packed(std::move(file), size_bytes, std::move(header), name);

  if (header.shape.size() > 1) refuse_shape(header);
  NpyColumns columns;
  columns.reader = read_pickled_array(*file, name, columns.rows);
  const bool is_table = header.shape.empty();
  if (!is_table && header.shape[0] != columns.rows) {
    fail_damaged(cat("claims ", header.shape[0], " objects and holds ", columns.rows));
  }
  return columns;
}

}  // namespace berth
