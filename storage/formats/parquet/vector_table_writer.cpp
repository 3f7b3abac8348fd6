#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/columnar/cell_maker.h"
#include "storage/formats/parquet/parquet_metadata.h"
#include "storage/formats/parquet/thrift_compact.h"
#include "storage/formats/vector_writer.h"

// The layout (github.com/apache/parquet-format): "PAR1", row groups, the file's metadata, their
// size as u32, "PAR1". A row group is the pages of the ids, then the pages of the embeddings:
//
//   page header   Thrift
//   levels        of embeddings only: u32 size and an RLE run or two a row for the repetition
//                 levels, then the same for the definition levels, which are all 1
//   values        PLAIN
namespace berth {
namespace {

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

using parquet::Encoding;
using parquet::PageType;
using parquet::Repetition;

constexpr size_t kPageBytes = size_t{1} << 20, kGroupBytes = size_t{16} << 20;
constexpr std::string_view kParquetMagic = "PAR1";
constexpr int32_t kUncompressed = 0, kAnnotatedAsText = 0, kAnnotatedAsList = 3;

enum PhysicalNumber : int32_t { kInt64Type = 2, kFloatType = 4, kByteArrayType = 6 };

void append_u32(std::string& bytes, size_t value) {
  const auto little_endian = static_cast<uint32_t>(value);
  bytes.append(reinterpret_cast<const char*>(&little_endian), sizeof little_endian);
}

// One run of the hybrid of runs and bit packing: `count` times the same level, of at most 8 bits.
void append_run(std::string& levels, uint64_t count, char level) {
  for (uint64_t header = count << 1;; header >>= 7) {
    if (header < 0x80) {
      levels.push_back(static_cast<char>(header));
      break;
    }
    levels.push_back(static_cast<char>(header | 0x80));
  }
  levels.push_back(level);
}

std::string page(size_t values, std::string_view body) {
  ThriftWriter header;
  header.root([&] {
    header.integer(1, static_cast<int32_t>(PageType::kData));
    header.integer(2, static_cast<int32_t>(body.size()));
    header.integer(3, static_cast<int32_t>(body.size()));
    header.structure(5, [&] {
      header.integer(1, static_cast<int32_t>(values));
      header.integer(2, static_cast<int32_t>(Encoding::kPlain));
      header.integer(3, static_cast<int32_t>(Encoding::kRle));
      header.integer(4, static_cast<int32_t>(Encoding::kRle));
    });
  });
  return header.written() + std::string(body);
}

// The pages of one column in one row group.
class ColumnPages {
 public:
  // For a list of `width` values in each row; 0: a row has one value and no levels.
  explicit ColumnPages(size_t width) : width_(width) {}

  void add(Bytes values) {
    values_.append(as_text(values));
    ++rows_;
    if (values_.size() >= kPageBytes) end_page();
  }

  void end_page() {
    if (rows_ == 0) return;
    const size_t count = rows_ * (width_ > 0 ? width_ : 1);
    pages_ += page(count, levels() + values_);
    all_values_ += static_cast<int64_t>(count);
    values_.clear();
    rows_ = 0;
  }

  const std::string& pages() const { return pages_; }
  size_t size() const { return pages_.size() + values_.size(); }
  int64_t values() const { return all_values_; }
  void clear() {
    pages_.clear();
    all_values_ = 0;
  }

 private:
  // The first value of a row begins a list (repetition level 0), the others go on with it (1).
  std::string levels() const {
    if (width_ == 0) return {};
    std::string repetition, definition, both;
    for (size_t row = 0; row < rows_; ++row) {
      append_run(repetition, 1, 0);
      if (width_ > 1) append_run(repetition, width_ - 1, 1);
    }
    append_run(definition, rows_ * width_, 1);
    for (const std::string* levels : {&repetition, &definition}) {
      append_u32(both, levels->size());
      both += *levels;
    }
    return both;
  }

  const size_t width_;
  std::string values_, pages_;
  size_t rows_ = 0;  // of the page at hand
  int64_t all_values_ = 0;
};

struct WrittenColumn {
  PhysicalNumber type;
  std::vector<std::string_view> path;
  int64_t values = 0, begin = 0, size = 0;
};

struct WrittenGroup {
  std::array<WrittenColumn, 2> columns;
  int64_t rows = 0;
};

void write_column(ThriftWriter& out, const WrittenColumn& column) {
  out.integer(2, column.begin);
  out.structure(3, [&] {
    out.integer(1, static_cast<int32_t>(column.type));
    const std::array encodings = {Encoding::kPlain, Encoding::kRle};
    out.list(2, ThriftType::kInt32, encodings.size(), [&] {
      for (const Encoding encoding : encodings) out.element(static_cast<int32_t>(encoding));
    });
    out.list(3, ThriftType::kBinary, column.path.size(), [&] {
      for (const std::string_view part : column.path) out.element(part);
    });
    out.integer(4, kUncompressed);
    out.integer(5, column.values);
    out.integer(6, column.size);
    out.integer(7, column.size);
    out.integer(9, column.begin);
  });
}

void write_group(ThriftWriter& out, const WrittenGroup& group) {
  out.list(1, ThriftType::kStruct, group.columns.size(), [&] {
    for (const WrittenColumn& column : group.columns) {
      out.root([&] { write_column(out, column); });
    }
  });
  out.integer(2, group.columns[0].size + group.columns[1].size);
  out.integer(3, group.rows);
}

class VectorTableWriter final : public VectorWriter {
 public:
  VectorTableWriter(ByteSink& sink, const VectorTable& table)
      : sink_(sink), table_(table), ids_(0), vectors_(table.width) {
    assert(table.numbers == VectorNumbers::kFloat32);
    write(kParquetMagic);
  }

  void add(const VectorRow& row) override {
    assert(row.vector.size() == table_.width);
    add_id(row);
    vectors_.add(std::as_bytes(row.vector));
    ++rows_;
    ++group_rows_;
    if (ids_.size() + vectors_.size() >= kGroupBytes) end_group();
  }

  void finish() override {
    end_group();
    ThriftWriter metadata;
    metadata.root([&] { write_metadata(metadata); });
    std::string end = metadata.written();
    append_u32(end, metadata.written().size());
    write(end.append(kParquetMagic));
  }

 private:
  void add_id(const VectorRow& row) {
    if (!table_.has_ids) {
      const auto number = static_cast<int64_t>(row.number);
      return ids_.add(std::as_bytes(std::span(&number, 1)));
    }
    const std::string id = row.id.empty() ? std::to_string(row.number) : std::string(row.id);
    std::string value;
    append_u32(value, id.size());
    ids_.add(as_bytes(value + id));
  }

  void end_group() {
    if (group_rows_ == 0) return;
    WrittenGroup group{
        .columns = {WrittenColumn{.type = table_.has_ids ? kByteArrayType : kInt64Type,
                                  .path = {"id"}},
                    WrittenColumn{.type = kFloatType, .path = {"embedding", "list", "element"}}},
        .rows = group_rows_};
    for (const auto& [pages, column] :
         {std::pair(&ids_, &group.columns[0]), std::pair(&vectors_, &group.columns[1])}) {
      pages->end_page();
      column->values = pages->values();
      column->begin = written_;
      column->size = static_cast<int64_t>(pages->pages().size());
      write(pages->pages());
      pages->clear();
    }
    groups_.push_back(std::move(group));
    group_rows_ = 0;
  }

  // The nodes of the schema in the order of a walk that visits parents first.
  void write_schema(ThriftWriter& out) const {
    const auto node = [&](std::string_view name, Repetition repetition, const auto& before,
                          const auto& behind) {
      out.root([&] {
        before();
        out.integer(3, static_cast<int32_t>(repetition));
        out.text(4, name);
        behind();
      });
    };
    const auto nothing = [] {};
    const auto of_type = [&](PhysicalNumber type) {
      return [&out, type] { out.integer(1, static_cast<int32_t>(type)); };
    };
    out.root([&] {
      out.text(4, "schema");
      out.integer(5, int32_t{2});
    });
    node("id", Repetition::kRequired, of_type(table_.has_ids ? kByteArrayType : kInt64Type), [&] {
      if (!table_.has_ids) return;
      out.integer(6, kAnnotatedAsText);
      out.structure(10, [&] { out.structure(1, nothing); });
    });
    node("embedding", Repetition::kRequired, nothing, [&] {
      out.integer(5, int32_t{1});
      out.integer(6, kAnnotatedAsList);
      out.structure(10, [&] { out.structure(3, nothing); });
    });
    node("list", Repetition::kRepeated, nothing, [&] { out.integer(5, int32_t{1}); });
    node("element", Repetition::kRequired, of_type(kFloatType), nothing);
  }

  void write_metadata(ThriftWriter& out) const {
    constexpr size_t kSchemaNodes = 5;
    out.integer(1, int32_t{1});  // the version of the format
    out.list(2, ThriftType::kStruct, kSchemaNodes, [&] { write_schema(out); });
    out.integer(3, rows_);
    out.list(4, ThriftType::kStruct, groups_.size(), [&] {
      for (const WrittenGroup& group : groups_) {
        out.root([&] { write_group(out, group); });
      }
    });
    out.text(6, "berth");
  }

  void write(std::string_view bytes) {
    sink_.write(as_bytes(bytes));
    written_ += static_cast<int64_t>(bytes.size());
  }

  ByteSink& sink_;
  const VectorTable table_;
  ColumnPages ids_, vectors_;
  std::vector<WrittenGroup> groups_;
  int64_t rows_ = 0, group_rows_ = 0, written_ = 0;
};

}  // namespace

std::unique_ptr<VectorWriter> make_vector_table_writer(ByteSink& sink, const VectorTable& table) {
  return std::make_unique<VectorTableWriter>(sink, table);
}

}  // namespace berth
