#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

// A set of texts for finding every one that begins a text: a double array (Aoe 1989), where the
// child of node n by byte c is place base[n] + c, if its parent there is n. Immutable, thread-safe.
class Trie {
 public:
  // Of equal texts the last counts; empty ones are left out. The texts are needed no longer.
  explicit Trie(std::vector<std::pair<std::string_view, int32_t>> texts);

  bool empty() const { return nodes_.size() <= 1; }

  // Calls visit(size_bytes, value) for each text that begins `text`, shortest first.
  template <typename Visit>
  void prefixes(std::string_view text, Visit visit) const {
    int32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto place = static_cast<size_t>(nodes_[static_cast<size_t>(node)].base) +
                         static_cast<unsigned char>(text[i]);
      if (place >= nodes_.size() || nodes_[place].parent != node) return;
      node = static_cast<int32_t>(place);
      if (nodes_[place].value >= 0) visit(i + 1, nodes_[place].value);
    }
  }

  // The longest text that begins `text`: its size, or 0.
  size_t longest(std::string_view text) const {
    size_t longest = 0;
    prefixes(text, [&](size_t size, int32_t) { longest = size; });
    return longest;
  }

 private:
  struct Node {
    int32_t base = 0;
    int32_t parent = -1;  // -1: a free place
    int32_t value = -1;   // -1: no text ends here
  };
  struct Range;  // of the sorted texts, that share their beginning

  int32_t free_base(const std::vector<unsigned char>& labels);

  std::vector<Node> nodes_;
  size_t search_from_ = 1;
};

}  // namespace berth
