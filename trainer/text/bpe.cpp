#include "trainer/text/bpe.h"

#include <algorithm>
#include <cstdio>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/byte_level.h"

namespace berth {

namespace {

std::string byte_token(unsigned byte, bool byte_level) {
  if (!byte_level) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    return text;
  }
  char bytes[4];
  return {bytes, encode_utf8(byte_to_character(static_cast<unsigned char>(byte)), bytes)};
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
