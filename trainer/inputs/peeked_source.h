#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/data/find_columns.h"

namespace berth {

// A source whose beginning can be looked at before it is read.
class PeekedSource final : public ByteSource {
 public:
  // The beginning has at most `size` bytes.
  explicit PeekedSource(std::unique_ptr<ByteSource> inner, size_t size = size_t{16} << 10)
      : inner_(std::move(inner)), beginning_(size) {
    size_t filled = 0;
    while (filled < beginning_.size()) {
      const size_t got = inner_->read(std::span(beginning_).subspan(filled));
      if (got == 0) break;
      filled += got;
    }
    rest_ = Bytes(beginning_).first(filled);
  }

  std::string_view beginning() const { return as_text(rest_); }

  size_t read(std::span<std::byte> buffer) override {
    if (rest_.empty()) return inner_->read(buffer);
    const size_t count = std::min(buffer.size(), rest_.size());
    std::copy_n(rest_.begin(), count, buffer.begin());
    rest_ = rest_.subspan(count);
    return count;
  }

  std::unique_ptr<RandomAccessSource> map() override { return inner_->map(); }

 private:
  const std::unique_ptr<ByteSource> inner_;
  std::vector<std::byte> beginning_;
  Bytes rest_;
};

// Decompresses TFRecords if their content is gzip. TensorFlow's writer may compress a file whatever
// its name is.
std::unique_ptr<ByteSource> plain_records(std::unique_ptr<ByteSource> stored);

// What the beginning of a file shows that may hold one word in each line. Both look at whole lines.

// Whether it begins with a header line: with the names of columns of words and tags, or with the
// names in `choice`. Each line is then a row of a table.
bool begins_sentence_table(std::string_view text, const ColumnChoice& choice);

// Whether each line is a sentence, and not a word with tags. Lines of words have one field, or the
// same number of tabs each, or counted words. Or they have a column of IOB tags or of `known_tags`,
// some of which may be missing (-1, _, - or ?). The first line may differ. `are_counted`: the job
// has read lines of counted words, so one such line is enough.
bool holds_plain_sentences(std::string_view text, const std::vector<std::string>& known_tags,
                           bool are_counted = false);

}  // namespace berth
