#include <algorithm>
#include <cstring>

#include "entrypoint/job/text_files.h"
#include "storage/base/bytes.h"

namespace berth {
namespace {

constexpr size_t kLongestRow = size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class TextLinesOfFile final : public TextRows {
 public:
  explicit TextLinesOfFile(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  bool next(TextBlock& block) override {
    const size_t before = block.rows();
    while (block.rows() == before) {
      const bool at_end = !fill();
      const size_t used = take_lines(rest_, at_end, block);
      rest_.erase(0, used);
      if (at_end && block.rows() == before) return false;
    }
    return true;
  }

 private:
  // Appends bytes of the file to rest_. Returns false at the end of the file.
  bool fill() {
    const size_t size = rest_.size();
    rest_.resize(size + kTextBlockBytes);
    size_t count = 0;
    while (count < kTextBlockBytes) {
      const size_t more =
          source_->read(std::as_writable_bytes(std::span(rest_)).subspan(size + count));
      if (more == 0) break;
      count += more;
    }
    rest_.resize(size + count);
    if (is_first_ && std::string_view(rest_).starts_with(kByteOrderMark)) {
      rest_.erase(0, kByteOrderMark.size());
    }
    is_first_ = false;
    return count == kTextBlockBytes;
  }

  static void append(std::string_view row, TextBlock& block) {
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (!row.empty()) block.append(row);
  }

  // Where to cut a row that is too long: after its last space, or else between two characters.
  static size_t cut_of(std::string_view row) {
    const size_t space = row.rfind(' ');
    if (space != std::string_view::npos) return space + 1;
    size_t end = row.size();
    for (int i = 0; i < 3 && (row[end - 1] & 0xC0) == 0x80; ++i) --end;
    return (row[end - 1] & 0xC0) == 0xC0 ? end - 1 : row.size();
  }

  // Appends the lines that `text` holds as a whole, and returns how many bytes they take.
  static size_t take_lines(std::string_view text, bool at_end, TextBlock& block) {
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      if (end - begin > kLongestRow) {
        const size_t cut = cut_of(text.substr(begin, kLongestRow));
        append(text.substr(begin, cut), block);
        begin += cut;
        continue;
      }
      if (end == text.size() && !at_end) break;
      append(text.substr(begin, end - begin), block);
      begin = std::min(end + 1, text.size());
    }
    return begin;
  }

  std::unique_ptr<ByteSource> source_;
  std::string rest_;  // bytes that no row holds yet
  bool is_first_ = true;
};

}  // namespace

std::unique_ptr<TextRows> make_text_lines(std::unique_ptr<ByteSource> source) {
  return std::make_unique<TextLinesOfFile>(std::move(source));
}

}  // namespace berth
