#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/parquet/parquet_metadata.h"
#include "storage/formats/parquet/thrift_compact.h"

// The parts of Parquet files that berth writes. Pages are PLAIN and not compressed.
// The layout (github.com/apache/parquet-format): "PAR1", row groups, the file's metadata, their
// size as u32, "PAR1". A row group is the pages of each column, one after the other:
//
//   page header   Thrift
//   levels        of lists only: u32 size and an RLE run or two a row for the repetition
//                 levels, then the same for the definition levels, which are all 1
//   values        PLAIN
namespace berth::parquet {

// Writes Thrift's compact protocol. There is no schema here: the caller knows what a struct holds,
// and writes its fields in the order of their ids.
class ThriftWriter {
 public:
  // One field of the struct at hand.
  void integer(int32_t id, int32_t value) { number(id, ThriftType::kInt32, value); }
  void integer(int32_t id, int64_t value) { number(id, ThriftType::kInt64, value); }

  void text(int32_t id, std::string_view value) {
    field(id, ThriftType::kBinary);
    element(value);
  }

  // A struct: the outermost one (no field id), a field, or an element of a list.
  template <typename Fill>
  void root(const Fill& fill) {
    nested(fill);
  }
  template <typename Fill>
  void structure(int32_t id, const Fill& fill) {
    field(id, ThriftType::kStruct);
    nested(fill);
  }
  // A field that is a list of `count` elements; fill() writes them, as element() or root().
  template <typename Fill>
  void list(int32_t id, ThriftType element, size_t count, const Fill& fill) {
    field(id, ThriftType::kList);
    list_header(element, count);
    fill();
  }
  void element(int32_t value) { zigzag(value); }

  void element(std::string_view value) {
    varint(value.size());
    written_.append(value);
  }

  const std::string& written() const { return written_; }

 private:
  template <typename Fill>
  void nested(const Fill& fill) {
    last_ids_.push_back(0);
    fill();
    written_.push_back('\0');
    last_ids_.pop_back();
  }

  void field(int32_t id, ThriftType type) {
    const int32_t delta = id - last_ids_.back();
    assert(delta >= 1 && delta <= 15);  // Parquet's structs need no other form
    last_ids_.back() = id;
    written_.push_back(static_cast<char>((delta << 4) | static_cast<int32_t>(type)));
  }

  void number(int32_t id, ThriftType type, int64_t value) {
    field(id, type);
    zigzag(value);
  }

  void list_header(ThriftType element, size_t count) {
    const auto type = static_cast<size_t>(element);
    if (count < 15) return written_.push_back(static_cast<char>((count << 4) | type));
    written_.push_back(static_cast<char>(0xF0 | type));
    varint(count);
  }

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) written_.push_back(static_cast<char>(value | 0x80));
    written_.push_back(static_cast<char>(value));
  }

  void zigzag(int64_t value) {
    varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }

  std::string written_;
  std::vector<int32_t> last_ids_;  // the field last written of each struct that is open
};

enum PhysicalNumber : int32_t { kInt64Type = 2, kFloatType = 4, kByteArrayType = 6 };

// What a value of a text is in a page.
std::string text_value(std::string_view text);

// The pages of one column in one row group.
class ColumnPages {
 public:
  // For a list of `width` values in each row; 0: a row has one value and no levels.
  explicit ColumnPages(size_t width) : width_(width) {}

  void add(Bytes values);  // of a row
  void end_page();

  const std::string& pages() const { return pages_; }
  size_t size() const { return pages_.size() + values_.size(); }
  int64_t values() const { return all_values_; }
  void clear() {
    pages_.clear();
    all_values_ = 0;
  }

 private:
  std::string levels() const;

  const size_t width_;
  std::string values_, pages_;
  size_t rows_ = 0;  // of the page at hand
  int64_t all_values_ = 0;
};

// A column in a row group.
struct WrittenColumn {
  PhysicalNumber type;
  std::vector<std::string> path;
  int64_t values = 0, begin = 0, size = 0;
};

// A file that is written as a stream, row group after row group. Borrows the sink.
class ParquetFile {
 public:
  explicit ParquetFile(ByteSink& sink);

  static constexpr size_t kGroupBytes = size_t{16} << 20;  // when a row group should end

  // Writes the pages of a row group, which has a row at least, and clears them. `columns` have
  // types and paths.
  void end_group(std::vector<WrittenColumn> columns, std::span<ColumnPages* const> pages,
                 int64_t rows);
  // Writes what follows the last row group. `schema` writes this number of nodes, parents first.
  void finish(size_t nodes, const std::function<void(ThriftWriter& out)>& schema);

 private:
  struct WrittenGroup {
    std::vector<WrittenColumn> columns;
    int64_t rows = 0;
  };
  static void write_group(ThriftWriter& out, const WrittenGroup& group);
  void write(std::string_view bytes);

  ByteSink& sink_;
  std::vector<WrittenGroup> groups_;
  int64_t rows_ = 0, written_ = 0;
};

// A node of the schema: a column of texts that are all there.
void write_text_node(ThriftWriter& out, std::string_view name);

}  // namespace berth::parquet
