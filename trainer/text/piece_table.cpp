#include "trainer/text/piece_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <limits>

#include "storage/base/error.h"

namespace berth {

namespace {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;

uint64_t hash_of(std::string_view text) {
  uint64_t hash = text.size() * kMultiplier;
  uint64_t word;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    hash = (std::rotl(hash, 29) ^ word) * kMultiplier;
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  hash = (std::rotl(hash, 29) ^ word) * kMultiplier;
  return hash ^ hash >> 32;
}

uint32_t slot_tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

void PieceTable::reserve(size_t count, size_t bytes) {
  arena_.reserve(bytes);
  entries_.reserve(count);
  grow(std::bit_ceil(2 * count + 2));
}

void PieceTable::grow(size_t slots) {
  slots_.assign(slots, Slot{});
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string_view text = text_of(entries_[i]);
    const uint64_t hash = hash_of(text);
    slots_[slot_of(text, hash)] = {slot_tag(hash), static_cast<int32_t>(i)};
  }
}

size_t PieceTable::slot_of(std::string_view text, uint64_t hash) const {
  size_t i = hash & (slots_.size() - 1);
  while (slots_[i].entry >= 0) {
    if (slots_[i].tag == slot_tag(hash) &&
        text_of(entries_[static_cast<size_t>(slots_[i].entry)]) == text) {
      break;
    }
    i = (i + 1) & (slots_.size() - 1);
  }
  return i;
}

void PieceTable::insert(std::string_view text, int32_t value) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow(std::bit_ceil(4 * entries_.size() + 8));
  const uint64_t hash = hash_of(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.entry >= 0) {
    entries_[static_cast<size_t>(slot.entry)].value = value;
    return;
  }
  if (arena_.size() + text.size() > std::numeric_limits<uint32_t>::max()) {
    throw Error(Code::kBadData, "a vocabulary of over 4 GiB is too large");
  }
  slot = {slot_tag(hash), static_cast<int32_t>(entries_.size())};
  entries_.push_back(
      {static_cast<uint32_t>(arena_.size()), static_cast<uint32_t>(text.size()), value});
  arena_ += text;
}

int32_t PieceTable::find(std::string_view text) const {
  if (slots_.empty()) return -1;
  const Slot& slot = slots_[slot_of(text, hash_of(text))];
  return slot.entry < 0 ? -1 : entries_[static_cast<size_t>(slot.entry)].value;
}

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
