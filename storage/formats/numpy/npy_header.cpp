#include "storage/formats/numpy/npy_header.h"

#include <charconv>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kLargestLiteral = uint64_t{1} << 20;
constexpr size_t kDimensionLimit = 64;  // numpy's own limit

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
      if (error != std::errc() || header.shape.size() == kDimensionLimit) fail("no shape");
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

}  // namespace

void read_fully(ByteSource& file, std::span<std::byte> buffer) {
  while (!buffer.empty()) {
    const size_t count = file.read(buffer);
    if (count == 0) fail_damaged("an array ends too early");
    buffer = buffer.subspan(count);
  }
}

NpyHeader read_npy_header(ByteSource& file) {
  std::byte start[12];
  read_fully(file, std::span(start).first(10));
  Cursor cursor{Bytes(start)};
  if (as_text(cursor.take(kMagic.size())) != kMagic) {
    throw Error(Code::kCorrupt, "does not begin as a .npy file does", "byte 0", kFetchAgain);
  }
  const uint8_t version = cursor.u8();
  cursor.skip(1);
  if (version < 1 || version > 3) {
    throw Error(Code::kBadData, cat("is of version ", version, " of numpy's format"));
  }
  if (version > 1) read_fully(file, std::span(start).last(2));
  const uint64_t size = version == 1 ? cursor.u16() : cursor.u32();
  if (size > kLargestLiteral) fail_at_byte(cursor.offset(), cat("a header of ", size, " bytes"));
  std::vector<std::byte> literal(size);
  read_fully(file, literal);

  NpyHeader header;
  header.size_bytes = cursor.offset() + size;
  LiteralParser(as_text(literal), cursor.offset(), version == 3).parse(header);
  return header;
}

}  // namespace berth
