#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/formats/damage.h"
#include "storage/formats/numpy/numpy_element.h"
#include "storage/formats/pickle.h"
#include "storage/formats/row_reader.h"
#include "storage/formats/row_readers.h"
#include "storage/formats/zip_file.h"

namespace berth {
namespace {

// The header of a .npy file, which describes its array
// (numpy.org/doc/stable/reference/generated/numpy.lib.format):
//
//   "\x93NUMPY" | u8 version, u8 minor version | u16 size, from version 2 on u32 | a Python
//   literal:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }
//   {'descr': [('text', '<U9'), ('label', '<i8')], 'fortran_order': False, 'shape': (3,), }
struct NpyHeader {
  struct Field {
    std::string name;
    NumpyDtype dtype;
    uint64_t offset = 0;  // in an element
  };
  bool is_structured = false;  // whether elements are records
  std::vector<Field> fields;   // of a record, without its padding; else one without a name
  uint64_t item_size = 0;      // bytes of an element
  bool is_column_major = false;
  std::vector<uint64_t> shape;
  uint64_t size_bytes = 0;  // of the header itself
};

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr uint64_t kLargestLiteral = uint64_t{1} << 20;
constexpr size_t kMostNpyDimensions = 64;  // numpy's own limit

// Parses the literal. Positions in messages count from the start of the file.
class LiteralParser {
 public:
  LiteralParser(std::string_view text, uint64_t begin, bool is_utf8)
      : text_(text), begin_(begin), is_utf8_(is_utf8) {}

  void parse(NpyHeader& header) {
    bool has_type = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted_text();
      expect(':');
      if (key == "descr") {
        has_type = true;
        parse_type(header);
      } else if (key == "fortran_order") {
        header.is_column_major = parse_truth();
      } else if (key == "shape") {
        has_shape = true;
        parse_shape(header);
      } else {
        fail(cat("unknown key ", quoted(key)));
      }
      if (!accept(',') && peek() != '}') fail("neither a comma nor the end of a dict");
    }
    if (peek() != '\0') fail("text after the dict");
    if (!has_type || !has_shape) fail("a header without an array's type or shape");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at_byte(begin_ + at_, what); }

  // The next character that is no space; 0 at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(cat("no '", std::string(1, wanted), "' in the header"));
  }

  std::string quoted_text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("no quoted text in the header");
    std::string text;
    for (++at_;; ++at_) {
      if (at_ == text_.size()) fail("a text in the header does not end");
      char c = text_[at_];
      if (c == quote) break;
      if (c == '\\') {
        if (++at_ == text_.size() || (text_[at_] != '\\' && text_[at_] != '\'')) {
          fail("an unknown escape in the header");
        }
        c = text_[at_];
      }
      if (is_utf8_) {
        text += c;
      } else {
        append_utf8(static_cast<unsigned char>(c), text);  // Latin-1
      }
    }
    ++at_;
    if (find_invalid_utf8(text)) fail("a name that is not UTF-8");
    return text;
  }

  bool parse_truth() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    fail("neither True nor False");
  }

  void parse_shape(NpyHeader& header) {
    expect('(');
    header.shape.clear();
    while (!accept(')')) {
      peek();
      uint64_t size = 0;
      const char* const begin = text_.data() + at_;
      const auto [stopped, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || header.shape.size() == kMostNpyDimensions) fail("no shape");
      at_ += static_cast<size_t>(stopped - begin);
      accept('L');  // of Python 2
      header.shape.push_back(size);
      if (!accept(',') && peek() != ')') fail("neither a comma nor the end of a shape");
    }
  }

  NumpyDtype parse_code() {
    if (peek() == '[' || peek() == '(') {
      throw Error(Code::kBadData, "holds records inside of records, or arrays inside of records",
                  "", "save each column as an array of its own");
    }
    const std::string code = quoted_text();
    std::optional<NumpyDtype> dtype = parse_dtype(code);
    if (dtype && dtype->item_size == 0) dtype.reset();  // rows would have no bytes
    if (!dtype) throw Error(Code::kBadData, cat("holds an array of dtype ", quoted(code)));
    return *dtype;
  }

  void parse_type(NpyHeader& header) {
    header.fields.clear();
    header.item_size = 0;
    header.is_structured = accept('[');
    if (!header.is_structured) {
      header.fields.push_back({"", parse_code(), 0});
      header.item_size = header.fields.front().dtype.item_size;
      return;
    }
    while (!accept(']')) {
      parse_field(header);
      if (!accept(',') && peek() != ']') fail("neither a comma nor the end of a list");
    }
  }

  void parse_field(NpyHeader& header) {
    expect('(');
    std::string name = quoted_text();
    expect(',');
    const NumpyDtype dtype = parse_code();
    if (accept(',') && peek() != ')') {
      throw Error(Code::kBadData, cat("holds records whose ", quoted(name), " is an array"), "",
                  "save each column as an array of its own");
    }
    expect(')');
    if (dtype.kind == 'O') {
      throw Error(Code::kBadData, cat("holds records whose ", quoted(name), " is a Python object"),
                  "", "save each column as an array of its own");
    }
    const bool is_padding = name.empty() && dtype.kind == 'V';
    if (!is_padding) header.fields.push_back({std::move(name), dtype, header.item_size});
    header.item_size += dtype.item_size;
  }

  const std::string_view text_;
  const uint64_t begin_;
  const bool is_utf8_;
  size_t at_ = 0;
};

// Fills `buffer`. Throws kCorrupt where `file` ends before.
void fill_or_fail(ByteSource& file, std::span<std::byte> buffer) {
  if (read_fully(file, buffer) < buffer.size()) fail_damaged("an array ends too early");
}

// Reads the header at the start of `file`. Throws kCorrupt, naming the byte, where it is damaged,
// and kBadData where the elements are of a type that berth does not read.
NpyHeader read_npy_header(ByteSource& file) {
  std::byte start[12];
  fill_or_fail(file, std::span(start).first(10));
  Cursor cursor{Bytes(start)};
  if (as_text(cursor.take(kNpyMagic.size())) != kNpyMagic) {
    throw Error(Code::kCorrupt, "does not begin as a .npy file does", "byte 0", kFetchAgain);
  }
  const uint8_t version = cursor.u8();
  cursor.skip(1);
  if (version < 1 || version > 3) {
    throw Error(Code::kBadData, cat("is of version ", version, " of numpy's format"));
  }
  if (version > 1) fill_or_fail(file, std::span(start).last(2));
  const uint64_t size = version == 1 ? cursor.u16() : cursor.u32();
  if (size > kLargestLiteral) fail_at_byte(cursor.offset(), cat("a header of ", size, " bytes"));
  std::vector<std::byte> literal(size);
  fill_or_fail(file, literal);

  NpyHeader header;
  header.size_bytes = cursor.offset() + size;
  LiteralParser(as_text(literal), cursor.offset(), version == 3).parse(header);
  return header;
}

// The columns that one .npy file holds, and how many rows they have.
struct NpyColumns {
  std::unique_ptr<RowReader> reader;
  uint64_t rows = 0;
};

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
        fill_or_fail(*file_, block_);
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

// Reads a .npy file of `size_bytes` bytes. An array of one dimension is a column, whose name is
// `name`, or else "text" for texts and objects and "value" for others. In an array of two
// dimensions each row is a list, as JSON text. An array of records has a column for each field.
// Python objects are read from their pickle without running it (pickle.h); a single object must be
// a table.
//
// Errors of rows name the column and the row. Throws kCorrupt where the file is damaged and
// kBadData where the array is no column. Memory holds a block of rows, or the pickle.
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

// Each array that is read takes some 150 KiB of buffers.
constexpr size_t kMostArrays = 1'000;
constexpr std::string_view kSuffix = ".npy";

// One array of the file, whose columns are some of the table's.
struct Member {
  NpyColumns array;
  size_t first_column = 0;
  bool is_selected = true;
  Row row;
};

class NumpyReader final : public RowReader {
 public:
  explicit NumpyReader(std::unique_ptr<RandomAccessSource> file) : file_(std::move(file)) {
    const Bytes bytes = *file_->view();
    if (!is_zip(bytes)) {
      add(open_npy(open_range(*file_, 0, bytes.size()), bytes.size(), ""), "the array");
      return;
    }
    const ZipFile zip(bytes);
    std::vector<ZipFile::Entry> entries = zip.entries();
    if (entries.size() > kMostArrays) {
      throw Error(Code::kBadData, cat("holds ", entries.size(), " arrays"), "",
                  cat("a table has at most ", kMostArrays));
    }
    std::ranges::sort(entries, {}, &ZipFile::Entry::begin);
    for (const ZipFile::Entry& entry : entries) add(entry);
  }

  std::span<const Column> columns() const override { return columns_; }
  std::string position() const override { return cat("row ", row_ == 0 ? 0 : row_ - 1); }
  std::optional<uint64_t> rows_left() const override { return rows_ - row_; }

  void select(std::span<const size_t> columns) override {
    for (Member& member : members_) {
      std::vector<size_t> own;
      for (const size_t column : columns) {
        const size_t own_column = column - member.first_column;  // wraps below the first one
        if (own_column < member.array.reader->columns().size()) own.push_back(own_column);
      }
      member.is_selected = member.is_selected && !own.empty();
      member.array.reader->select(own);
    }
  }

  bool next(Row& row) override {
    const bool is_end = row_ == rows_;
    row.resize(columns_.size());
    for (Member& member : members_) {
      Cell* const cells = row.data() + member.first_column;
      const size_t count = member.array.reader->columns().size();
      if (!member.is_selected) {
        std::fill_n(cells, count, Cell());
      } else if (member.array.reader->next(member.row) && !is_end) {
        std::swap_ranges(cells, cells + count, member.row.begin());
      }
    }
    if (is_end) return false;
    ++row_;
    return true;
  }

 private:
  void add(const ZipFile::Entry& entry) {
    const std::string where = cat("entry ", quoted(entry.name));
    if (!entry.name.ends_with(kSuffix)) {
      throw Error(Code::kBadData, "is no array", where, "numpy.savez writes arrays only");
    }
    std::string name(entry.name.substr(0, entry.name.size() - kSuffix.size()));
    if (name.empty()) throw Error(Code::kBadData, "has no name", where);
    try {
      add(open_npy(open_entry(*file_, entry), entry.size, std::move(name)), where);
    } catch (const Error& error) {
      if (error.where().starts_with(where)) throw;
      throw error.at(where);
    }
  }

  void add(NpyColumns array, const std::string& where) {
    if (!members_.empty() && array.rows != rows_) {
      throw Error(Code::kBadData,
                  cat("has ", array.rows, " rows, but the arrays before it have ", rows_), where,
                  "save only arrays with one element for each row");
    }
    rows_ = array.rows;
    const size_t first_column = columns_.size();
    for (const Column& column : array.reader->columns()) {
      if (find_column(columns_, column.name)) {
        throw Error(Code::kBadData, "has two columns called " + quoted(column.name));
      }
      columns_.push_back(column);
    }
    members_.push_back({std::move(array), first_column, true, {}});
  }

  const std::unique_ptr<RandomAccessSource> file_;
  std::vector<Column> columns_;
  std::vector<Member> members_;
  uint64_t rows_ = 0, row_ = 0;  // row_: rows that were read
};

}  // namespace

std::unique_ptr<RowReader> make_numpy_reader(std::unique_ptr<RandomAccessSource> file) {
  return std::make_unique<NumpyReader>(std::move(file));
}

}  // namespace berth
