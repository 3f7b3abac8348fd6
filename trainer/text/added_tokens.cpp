#include "trainer/text/added_tokens.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "trainer/text/unicode.h"

namespace berth {

namespace {

bool word_ends(std::string_view text) {
  return !text.empty() &&
         is_word_character(
             decode_utf8(text.substr(previous_character(text, text.size()))).code_point);
}

bool word_begins(std::string_view text) {
  return !text.empty() && is_word_character(decode_utf8(text).code_point);
}

size_t whitespace_before(std::string_view text, size_t end, size_t floor) {
  while (end > floor) {
    const size_t begin = previous_character(text, end);
    if (begin < floor || !is_white_space(decode_utf8(text.substr(begin)).code_point)) break;
    end = begin;
  }
  return end;
}

size_t whitespace_after(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const DecodedCharacter next = decode_utf8(text.substr(begin));
    if (!is_white_space(next.code_point)) break;
    begin += next.size_bytes;
  }
  return begin;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(
    const std::vector<AddedToken>& tokens,
    const std::function<std::string(const std::string& content)>& normalize) {
  for (const AddedToken& token : tokens) {
    if (token.normalized != (normalize != nullptr)) continue;
    std::string pattern = normalize ? normalize(token.content) : token.content;
    if (pattern.empty()) continue;
    begins_[static_cast<unsigned char>(pattern[0])] = true;
    entries_.push_back({std::move(pattern), token});
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.pattern[0] != b.pattern[0] ? a.pattern[0] < b.pattern[0]
                                        : a.pattern.size() > b.pattern.size();
  });
}

size_t AddedTokenFinder::next_candidate(std::string_view text, size_t from) const {
  if (entries_.front().pattern[0] == entries_.back().pattern[0]) {
    return std::min(text.size(), text.find(entries_.front().pattern[0], from));
  }
  while (from < text.size() && !begins_[static_cast<unsigned char>(text[from])]) ++from;
  return from;
}

const AddedTokenFinder::Entry* AddedTokenFinder::longest_at(std::string_view text,
                                                            size_t position) const {
  const auto begin =
      std::lower_bound(entries_.begin(), entries_.end(), text[position],
                       [](const Entry& entry, char first) { return entry.pattern[0] < first; });
  for (auto i = begin; i != entries_.end() && i->pattern[0] == text[position]; ++i) {
    if (text.compare(position, i->pattern.size(), i->pattern) == 0) return &*i;
  }
  return nullptr;
}

AddedTokenFinder::Found AddedTokenFinder::find(std::string_view text, size_t from,
                                               size_t floor) const {
  if (entries_.empty()) return {nullptr, 0, 0, 0};
  for (size_t i = next_candidate(text, from); i < text.size(); i = next_candidate(text, i)) {
    const Entry* entry = longest_at(text, i);
    if (entry == nullptr) {
      ++i;
      continue;
    }
    const AddedToken& token = entry->token;
    const size_t match_end = i + entry->pattern.size();
    if (token.single_word &&
        (word_ends(text.substr(0, i)) || word_begins(text.substr(match_end)))) {
      i = match_end;
      continue;
    }
    // The previous token may have taken whitespace at the beginning of this one, which counts
    // twice.
    size_t begin = i, end = match_end;
    if (token.lstrip) begin = i > floor ? whitespace_before(text, i, floor) : std::min(floor, end);
    if (token.rstrip) end = whitespace_after(text, end);
    return {entry, begin, end, match_end};
  }
  return {nullptr, 0, 0, 0};
}

OrderedJson added_token_flags(const AddedToken& token) {
  return {{"content", token.content},       {"single_word", token.single_word},
          {"lstrip", token.lstrip},         {"rstrip", token.rstrip},
          {"normalized", token.normalized}, {"special", token.special}};
}

OrderedJson added_token_list(const std::vector<AddedToken>& tokens) {
  OrderedJson list = OrderedJson::array();
  for (const AddedToken& token : tokens) {
    list.push_back({{"id", token.id}});
    list.back().update(added_token_flags(token));
  }
  return list;
}

OrderedJson added_tokens_decoder(const std::vector<AddedToken>& tokens) {
  OrderedJson decoder = OrderedJson::object();
  for (const AddedToken& token : tokens) {
    decoder[std::to_string(token.id)] = added_token_flags(token);
  }
  return decoder;
}

}  // namespace berth
