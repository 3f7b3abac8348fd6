#include "trainer/text/trie.h"

#include <algorithm>
#include <deque>

namespace berth {

struct Trie::Range {
  int32_t node;
  size_t begin, end, depth;
};

// Returns a base at which every label finds a free place. The first places fill up over time. When
// a search passes over places of which more than 95% are taken, later searches begin after them.
int32_t Trie::free_base(const std::vector<unsigned char>& labels) {
  const size_t first = labels.front();
  size_t taken = 0, start = std::max(search_from_, first + 1);
  for (size_t place = start;; ++place) {
    if (place + 256 >= nodes_.size()) nodes_.resize(2 * nodes_.size() + 512);
    if (nodes_[place].parent != kFree) {
      ++taken;
      continue;
    }
    const size_t base = place - first;
    const bool fits = std::all_of(labels.begin(), labels.end(), [&](unsigned char label) {
      return nodes_[base + label].parent == kFree;
    });
    if (!fits) continue;
    if (place - start > 64 && 20 * taken > 19 * (place - start)) search_from_ = place;
    return static_cast<int32_t>(base);
  }
}

Trie::Trie(std::vector<std::pair<std::string_view, int32_t>> texts) : nodes_(512) {
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  nodes_[0].parent = kNone;
  std::deque<Range> waiting = {{0, 0, texts.size(), 0}};
  std::vector<unsigned char> labels;
  std::vector<size_t> begins;
  size_t last_used = 0;
  while (!waiting.empty()) {
    Range range = waiting.front();
    waiting.pop_front();
    for (; range.begin < range.end && texts[range.begin].first.size() == range.depth;
         ++range.begin) {
      if (range.depth > 0)
        nodes_[static_cast<size_t>(range.node)].value = texts[range.begin].second;
    }
    if (range.begin == range.end) continue;
    labels.clear();
    begins.clear();
    for (size_t i = range.begin; i < range.end; ++i) {
      const auto label = static_cast<unsigned char>(texts[i].first[range.depth]);
      if (labels.empty() || labels.back() != label) {
        labels.push_back(label);
        begins.push_back(i);
      }
    }
    begins.push_back(range.end);
    const int32_t base = free_base(labels);
    nodes_[static_cast<size_t>(range.node)].base = base;
    for (size_t i = 0; i < labels.size(); ++i) {
      const int32_t child = base + labels[i];
      nodes_[static_cast<size_t>(child)].parent = range.node;
      last_used = std::max(last_used, static_cast<size_t>(child));
      waiting.push_back({child, begins[i], begins[i + 1], range.depth + 1});
    }
  }
  nodes_.resize(last_used + 1);
  nodes_.shrink_to_fit();
}

}  // namespace berth
