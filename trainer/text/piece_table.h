#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

// Maps texts to numbers. The texts are stored in one arena behind an open-addressing hash table.
// Once it is filled it is immutable and thread-safe.
class PieceTable {
 public:
  // Reserves room for `count` texts with `bytes` bytes in total.
  void reserve(size_t count, size_t bytes);

  // If a text is inserted twice, the last value counts. Values must not be negative.
  void insert(std::string_view text, int32_t value);

  // Returns the value, or -1 if the text is absent.
  int32_t find(std::string_view text) const;

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint32_t begin, size;
    int32_t value;
  };
  struct Slot {
    uint32_t tag = 0;
    int32_t entry = -1;
  };

  std::string_view text_of(const Entry& entry) const {
    return {arena_.data() + entry.begin, entry.size};
  }
  size_t slot_of(std::string_view text, uint64_t hash) const;
  void grow(size_t slots);

  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // the size is a power of two; at most half of them are used
};

// A set of texts, for finding every text that is a prefix of a given one. It is a double array (Aoe
// 1989): the child of node n for byte c is at base[n] + c, if the parent stored there is n.
// Immutable and thread-safe.
class Trie {
 public:
  // If a text occurs twice, the last value counts. Empty texts are left out. The texts need not
  // outlive the constructor.
  explicit Trie(std::vector<std::pair<std::string_view, int32_t>> texts);

  bool empty() const { return nodes_.size() <= 1; }

  // Calls visit(size_bytes, value) for each prefix of `text` in the set, shortest first.
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

  // Returns the size of the longest prefix of `text` in the set, or 0.
  size_t longest(std::string_view text) const {
    size_t longest = 0;
    prefixes(text, [&](size_t size, int32_t) { longest = size; });
    return longest;
  }

 private:
  static constexpr int32_t kFree = -1;
  // The root's parent. It is no node, so that no node has the root as its child for byte 0 by
  // chance.
  static constexpr int32_t kNone = INT32_MAX;

  struct Node {
    int32_t base = 0;
    int32_t parent = kFree;
    int32_t value = -1;  // -1 if no text ends here
  };
  struct Range;  // a range of the sorted texts that share a prefix

  int32_t free_base(const std::vector<unsigned char>& labels);

  std::vector<Node> nodes_;
  size_t search_from_ = 1;
};

}  // namespace berth
