#include "storage/formats/text_lines.h"

#include <cstring>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "storage/formats/text_form.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 18;
[[noreturn]] void throw_too_long(uint64_t number) {
  throw Error(Code::kBadData, cat("is longer than ", human_bytes(TextLines::kLimitBytes)),
              line_position(number));
}

// Where to cut a line that is too long: after its last space, or else between two characters.
size_t cut_of(std::string_view line) {
  const size_t space = line.rfind(' ');
  if (space != std::string_view::npos) return space + 1;
  size_t end = line.size();
  for (int i = 0; i < 3 && (line[end - 1] & 0xC0) == 0x80; ++i) --end;
  return (line[end - 1] & 0xC0) == 0xC0 ? end - 1 : line.size();
}

}  // namespace

TextLines::TextLines(std::unique_ptr<ByteSource> source, LongLines long_lines, Malformed malformed)
    : source_(as_utf8(std::move(source))), long_lines_(long_lines), malformed_(malformed) {}

// Appends more text at end_. Returns false at the end of the text.
bool TextLines::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kChunkBytes) buffer_.resize(end_ * 2 + kChunkBytes);
  const size_t count =
      source_->read(std::as_writable_bytes(std::span(buffer_.data() + end_, kChunkBytes)));
  end_ += count;
  at_end_ = count == 0;
  return !at_end_;
}

void TextLines::find_line_end() {
  const auto has = [this](char wanted) {
    return std::memchr(buffer_.data(), wanted, end_) != nullptr;
  };
  while (!has('\n')) {
    if (end_ < kChunkBytes && fill()) continue;
    if (has('\r')) line_end_ = '\r';
    return;
  }
}

// Returns where the line ends. nullptr if the text ends first, or the line has more than `limit`
// bytes.
const char* TextLines::find_newline(size_t limit) {
  for (size_t scanned = 0; scanned <= limit;) {
    const size_t size = end_ - begin_;
    if (size > scanned) {
      const char* begin = buffer_.data() + begin_;
      const void* newline = std::memchr(begin + scanned, line_end_, size - scanned);
      if (newline != nullptr) return static_cast<const char*>(newline);
      scanned = size;
    } else if (!fill()) {
      break;
    }
  }
  return nullptr;
}

// Takes a line, or a piece of one that is longer than `limit`, out of the buffer.
std::string_view TextLines::take(const char* newline, size_t limit) {
  const char* const start = buffer_.data() + begin_;
  const char* const stop = newline == nullptr ? buffer_.data() + end_ : newline;
  std::string_view line(start, static_cast<size_t>(stop - start));
  const bool has_return = newline != nullptr && line.ends_with('\r');
  if (has_return) line.remove_suffix(1);
  if (line.size() > limit && long_lines_ == LongLines::kCut) {
    line = line.substr(0, cut_of(line.substr(0, limit)));
    begin_ += line.size();
    in_line_ = true;
    ending_ = "";
    return line;
  }
  begin_ = static_cast<size_t>((newline == nullptr ? stop : stop + 1) - buffer_.data());
  in_line_ = false;
  ending_ = newline == nullptr ? "" : line_end_ == '\r' ? "\r" : has_return ? "\r\n" : "\n";
  return line;
}

namespace {

// What the first bytes of a file say that it is. Empty: it may be text.
std::string_view binary_format(std::string_view line) {
  using std::string_view_literals::operator""sv;
  constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
      {"PAR1"sv, "a Parquet file"sv},
      {"ARROW1\0\0"sv, "an Arrow file"sv},
      {"\x93NUMPY"sv, "an array of NumPy"sv},
      {"SQLite format 3\0"sv, "a database of SQLite"sv},
      {"\xD0\xCF\x11\xE0"sv, "an old spreadsheet or document of Office"sv},
      {"\x89HDF"sv, "an HDF5 file"sv},
      {"%PDF-"sv, "a PDF document"sv},
      {"{\\rtf"sv, "a document in RTF"sv},
      {"\x80\x02"sv, "a pickle"sv},
      {"\x80\x03"sv, "a pickle"sv},
      {"\x80\x04\x95"sv, "a pickle"sv},
      {"\x80\x05\x95"sv, "a pickle"sv},
      {"Obj\x01"sv, "an Avro file"sv}};
  for (const auto& [beginning, name] : kFormats) {
    if (line.starts_with(beginning)) return name;
  }
  return {};
}

}  // namespace

bool TextLines::next(std::string_view& line) {
  if (is_first_) find_line_end();
  const size_t limit = long_lines_ == LongLines::kCut ? kPieceBytes : kLimitBytes;
  const char* const newline = find_newline(limit + 1);  // a carriage return may follow
  if (begin_ == end_) return false;
  const uint64_t number = in_line_ ? number_ : number_ + 1;
  const bool has_passed = newline == nullptr && end_ - begin_ > limit;
  if (has_passed && long_lines_ == LongLines::kRefused) throw_too_long(number);
  line = take(newline, limit);
  number_ = number;
  if (is_first_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  is_first_ = false;
  if (line.size() > limit) throw_too_long(number);
  if (malformed_ == Malformed::kKept) return true;
  if (number == 1 && line.starts_with("PK\x03\x04")) {
    throw Error(Code::kBadData, "is a zip archive or a spreadsheet, not text", "",
                "a zip archive is called .zip; pandas.read_excel(...).to_csv(...) converts a "
                "spreadsheet");
  }
  if (const std::string_view binary = number == 1 ? binary_format(line) : ""; !binary.empty()) {
    throw Error(Code::kBadData, cat("is ", binary, ", not text"), "",
                "give the file the name that its format has, or convert it to CSV or Parquet");
  }
  if (number == 1 && line.starts_with("\x1F\x8B")) {
    throw Error(Code::kBadData, "is compressed by gzip inside", "",
                "it was compressed twice, as by a program that packs .gz files again: gzip -d "
                "unpacks it once");
  }
  if (const auto bad = find_invalid_utf8(line)) {
    throw Error(Code::kBadData, cat("byte ", *bad + 1, " is not UTF-8"), line_position(number),
                kOfEncodings);
  }
  return true;
}

std::string line_position(uint64_t number) { return cat("line ", number); }

}  // namespace berth
