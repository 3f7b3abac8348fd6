#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Some consecutive rows of the texts that a tokenizer is trained on. A row is a text: a line of a
// text file, or a cell of a table. It may hold any bytes.
struct TextBlock {
  std::string bytes;
  std::vector<size_t> ends;  // where each row ends in `bytes`; the next row begins there

  size_t rows() const { return ends.size(); }
  std::string_view row(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(bytes).substr(begin, ends[i] - begin);
  }
  void append(std::string_view row) {
    bytes += row;
    ends.push_back(bytes.size());
  }
  void clear() {
    bytes.clear();
    ends.clear();
  }
};

// The texts to train on. A call replaces `block` by the next rows, about kTextBlockBytes, and
// returns false if there are none left. It is called from one thread at a time, but not always from
// the same one.
using ReadTexts = std::function<bool(TextBlock& block)>;
inline constexpr size_t kTextBlockBytes = size_t{1} << 18;

}  // namespace berth
