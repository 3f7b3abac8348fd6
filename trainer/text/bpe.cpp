#include "trainer/text/bpe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "trainer/text/split_text.h"

namespace berth {

namespace {

constexpr size_t kShortWord = 48;

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

Symbol joined(const Symbol& left, const Symbol& right, int32_t merged) {
  return {.id = merged, .span = {left.span.begin, right.span.end}};
}

}  // namespace

void PairMerges::reserve(size_t count) { grow(std::bit_ceil(2 * count + 2)); }

size_t PairMerges::slot_of(uint64_t pair) const {
  uint64_t hash = pair * 0x9E3779B97F4A7C15;
  size_t i = (hash ^ hash >> 32) & (slots_.size() - 1);
  while (slots_[i].pair != pair && slots_[i].pair != UINT64_MAX) i = (i + 1) & (slots_.size() - 1);
  return i;
}

void PairMerges::grow(size_t slots) {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& slot : old) {
    if (slot.pair != UINT64_MAX) slots_[slot_of(slot.pair)] = slot;
  }
}

void PairMerges::insert(int32_t left, int32_t right, uint32_t rank, int32_t merged) {
  if (2 * (size_ + 1) > slots_.size()) grow(std::bit_ceil(4 * size_ + 8));
  Slot& slot = slots_[slot_of(pair_of(left, right))];
  if (slot.pair != UINT64_MAX) return;
  slot = {pair_of(left, right), {rank, merged}};
  ++size_;
}

PairMerges::Merge PairMerges::find(int32_t left, int32_t right) const {
  if (slots_.empty() || left < 0 || right < 0) return {};
  return slots_[slot_of(pair_of(left, right))].merge;
}

PairMerges::Merge PairMerges::between(const Symbol& left, const Symbol& right,
                                      std::vector<Candidate>* candidates) const {
  if (left.frozen || right.frozen) return {};
  const Merge merge = find(left.id, right.id);
  if (candidates != nullptr && merge.merged >= 0) {
    candidates->push_back({merge.merged, left.span, right.span});
  }
  return merge;
}

void PairMerges::apply(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShortWord) {
    scan(symbols, candidates);
  } else {
    merge_by_heap(symbols, candidates);
  }
}

void PairMerges::scan(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates) const {
  std::array<Merge, kShortWord> merges;  // of each symbol and the next
  size_t count = symbols.size() - 1;
  for (size_t i = 0; i < count; ++i) {
    merges[i] = between(symbols[i], symbols[i + 1], candidates);
  }
  while (count > 0) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == UINT32_MAX) break;
    symbols[best] = joined(symbols[best], symbols[best + 1], merges[best].merged);
    std::copy(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2, symbols.end(),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    symbols.pop_back();
    std::copy(merges.begin() + best + 1, merges.begin() + count, merges.begin() + best);
    --count;
    if (best > 0) merges[best - 1] = between(symbols[best - 1], symbols[best], candidates);
    if (best < count) merges[best] = between(symbols[best], symbols[best + 1], candidates);
  }
}

void PairMerges::merge_by_heap(std::vector<Symbol>& symbols,
                               std::vector<Candidate>* candidates) const {
  struct Waiting {
    uint32_t rank;
    uint32_t place;
    int32_t left, right, merged;
    bool operator<(const Waiting& other) const {  // the greatest leaves the heap first
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  const auto end = static_cast<uint32_t>(symbols.size());
  std::vector<uint32_t> next(end), previous(end);
  std::vector<Waiting> room;
  room.reserve(end);
  std::priority_queue<Waiting> queue({}, std::move(room));
  const auto consider = [&](uint32_t left, uint32_t right) {
    const Merge merge = between(symbols[left], symbols[right], candidates);
    if (merge.rank == UINT32_MAX) return;
    queue.push({merge.rank, left, symbols[left].id, symbols[right].id, merge.merged});
  };
  std::vector<bool> gone(end);
  for (uint32_t i = 0; i < end; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
    if (i + 1 < end) consider(i, i + 1);
  }
  while (!queue.empty()) {
    const Waiting top = queue.top();
    queue.pop();
    const uint32_t left = top.place, right = next[left];
    if (gone[left] || right == end || symbols[left].id != top.left ||
        symbols[right].id != top.right) {
      continue;
    }
    symbols[left] = joined(symbols[left], symbols[right], top.merged);
    gone[right] = true;
    next[left] = next[right];
    if (left > 0) consider(previous[left], left);
    if (next[left] < end) {
      previous[next[left]] = left;
      consider(left, next[left]);
    }
  }
  size_t kept = 0;
  for (uint32_t i = 0; i < end; i = next[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

namespace {

std::string byte_token(unsigned byte, bool byte_level) {
  if (!byte_level) return formatted("<0x%02X>", byte);
  return to_utf8(byte_to_character(static_cast<unsigned char>(byte)));
}

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, const Merges& merges, BpeOptions options)
    : options_(std::move(options)) {
  const size_t most = 4 * vocabulary.size() + 1000;  // ids may have some gaps
  size_t bytes = 0;
  for (const auto& [token, id] : vocabulary) {
    if (id < 0 || static_cast<size_t>(id) >= most) {
      throw Error(Code::kBadData, cat("the id of ", quoted(token), " is ", id,
                                      " in a vocabulary of ", vocabulary.size()));
    }
    if (static_cast<size_t>(id) >= tokens_.size()) tokens_.resize(static_cast<size_t>(id) + 1);
    tokens_[static_cast<size_t>(id)] = token;
    bytes += token.size();
  }
  ids_.reserve(vocabulary.size(), bytes);
  for (const auto& [token, id] : vocabulary) ids_.insert(token, id);
  if (options_.unk_token) {
    unk_id_ = ids_.find(*options_.unk_token);
    if (unk_id_ < 0) {
      throw Error(Code::kBadData, cat("the vocabulary has no ", quoted(*options_.unk_token)));
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = ids_.find(byte_token(byte, options_.byte_level));
    if (options_.byte_level && options_.byte_fallback && byte_ids_[byte] < 0) {
      throw Error(Code::kBadData, cat("model.byte_fallback is true, and the vocabulary lacks ",
                                      quoted(byte_token(byte, true)),
                                      ", a letter of ByteLevel; berth does not compute that"));
    }
  }
  insert_merges(merges);
  find_whole_words();
}

void Bpe::insert_merges(const Merges& merges) {
  merges_.reserve(merges.size());
  const std::string& prefix = options_.continuing_subword_prefix;
  uint32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const std::string_view rest = right.starts_with(prefix)
                                      ? std::string_view(right).substr(prefix.size())
                                      : std::string_view(right);
    const int32_t left_id = ids_.find(left), right_id = ids_.find(right);
    const int32_t merged = ids_.find(left + std::string(rest));
    if (left_id < 0 || right_id < 0 || merged < 0) {
      throw Error(Code::kBadData, cat("merge ", rank + 1, " is of ", quoted(left), " and ",
                                      quoted(right), ", which the vocabulary lacks"));
    }
    merges_.insert(left_id, right_id, rank++, merged);
  }
}

void Bpe::find_whole_words() {
  std::vector<Symbol> symbols;
  std::string word;
  whole_words_.reserve(tokens_.size(), 0);
  for (size_t id = 0; id < tokens_.size(); ++id) {
    word = tokens_[id];
    if (word.empty() || (options_.byte_level && !spelled_bytes(tokens_[id], word))) continue;
    if (!options_.ignore_merges) {
      symbols.clear();
      cut(word, symbols);
      merges_.apply(symbols);
      if (symbols.size() != 1 || symbols[0].id != static_cast<int32_t>(id)) continue;
    }
    if (ids_.find(tokens_[id]) == static_cast<int32_t>(id)) {
      whole_words_.insert(word, static_cast<int32_t>(id));
    }
  }
}

std::string Bpe::token(int32_t id) const {
  return id >= 0 && id < vocab_size() ? tokens_[static_cast<size_t>(id)] : "";
}

void Bpe::append(std::string_view word, size_t offset, Tokens& tokens) const {
  if (const int32_t whole = whole_words_.find(word); whole >= 0) {
    tokens.add(whole, span_of(offset, offset + word.size()));
    return;
  }
  std::vector<Symbol> symbols;
  cut(word, symbols);
  merges_.apply(symbols);
  for (const Symbol& symbol : symbols) {
    tokens.add(symbol.id, span_of(offset + symbol.span.begin, offset + symbol.span.end));
  }
}

void Bpe::cut(std::string_view word, std::vector<Symbol>& symbols) const {
  symbols.reserve(word.size());
  if (options_.byte_level) {
    cut_bytes(word, symbols);
  } else {
    cut_characters(word, symbols);
  }
}

void Bpe::cut_bytes(std::string_view word, std::vector<Symbol>& symbols) const {
  for (size_t i = 0; i < word.size(); ++i) {
    const int32_t id = byte_ids_[static_cast<unsigned char>(word[i])];
    if (id >= 0) {
      symbols.push_back({id, span_of(i, i + 1)});
    } else if (unk_id_ >= 0) {
      const bool fused =
          options_.fuse_unk && i > 0 && byte_ids_[static_cast<unsigned char>(word[i - 1])] < 0;
      if (fused) {
        symbols.back().span.end = static_cast<uint32_t>(i + 1);
      } else {
        symbols.push_back({unk_id_, span_of(i, i + 1)});
      }
    }
  }
}

bool Bpe::fall_back_to_bytes(std::string_view character, Span span,
                             std::vector<Symbol>& symbols) const {
  const auto id_of = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
  if (!options_.byte_fallback || !std::all_of(character.begin(), character.end(),
                                              [&](char byte) { return id_of(byte) >= 0; })) {
    return false;
  }
  for (size_t i = 0; i < character.size(); ++i) {
    symbols.push_back({id_of(character[i]), span_of(span.begin + i, span.begin + i + 1)});
  }
  return true;
}

void Bpe::cut_characters(std::string_view word, std::vector<Symbol>& symbols) const {
  const bool plain =
      options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty();
  std::string decorated;
  bool previous_unknown = false;
  for (size_t begin = 0, end = 0; begin < word.size(); begin = end) {
    end = begin + decode_utf8(word.substr(begin)).size_bytes;
    std::string_view character = word.substr(begin, end - begin);
    if (!plain) {
      decorated = begin > 0 ? options_.continuing_subword_prefix : "";
      decorated += character;
      if (end == word.size()) decorated += options_.end_of_word_suffix;
      character = decorated;
    }
    const int32_t id = ids_.find(character);
    if (id >= 0) {
      symbols.push_back({id, span_of(begin, end)});
    } else if (!fall_back_to_bytes(character, span_of(begin, end), symbols) && unk_id_ >= 0) {
      if (previous_unknown && options_.fuse_unk) {
        symbols.back().span.end = static_cast<uint32_t>(end);
      } else {
        symbols.push_back({unk_id_, span_of(begin, end)});
      }
      previous_unknown = true;
      continue;
    }
    previous_unknown = false;
  }
}

}  // namespace berth
