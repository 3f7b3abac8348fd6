#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"

namespace berth {

// A token that is cut out of the text before the text is split into words: [SEP], or a token that a
// user added.
struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool single_word = false;  // matches only if no letter or digit touches it
  bool lstrip = false;       // takes the whitespace before it
  bool rstrip = false;       // takes the whitespace after it
  bool normalized = false;   // matches normalized text; its content is normalized, too
  bool special = true;
};

// Finds added tokens in a text. The leftmost match wins, and among those the longest (like
// added_vocabulary.rs in tokenizers). Immutable and thread-safe.
class AddedTokenFinder {
 public:
  // Finds the tokens that match texts as they are. With `normalize`, it finds the tokens that match
  // normalized texts, by their own normalized content. An empty content never matches.
  explicit AddedTokenFinder(
      const std::vector<AddedToken>& tokens,
      const std::function<std::string(const std::string& content)>& normalize = {});

  bool empty() const { return entries_.empty(); }

  // A part of a text: either an added token (its id, and the text that it covers), or the text
  // between two such tokens (id -1).
  struct Piece {
    int32_t id;
    std::string_view text;
  };
  // Calls `visit(piece)` for each piece in order, until it returns false.
  template <typename Visit>
  void split(std::string_view text, Visit visit) const {
    size_t begin = 0, search_from = 0;
    while (search_from < text.size()) {
      const Found found = find(text, search_from, begin);
      if (found.entry == nullptr) break;
      search_from = found.match_end;
      if (found.begin > begin && !visit(Piece{-1, text.substr(begin, found.begin - begin)})) return;
      if (!visit(Piece{found.entry->token.id, text.substr(found.begin, found.end - found.begin)})) {
        return;
      }
      begin = found.end;
    }
    if (begin < text.size()) visit(Piece{-1, text.substr(begin)});
  }

 private:
  struct Entry {
    std::string pattern;
    AddedToken token;
  };
  struct Found {
    const Entry* entry;  // null if nothing was found
    size_t begin, end, match_end;
  };

  // Finds the first token at or after `from`. The whitespace that it takes does not begin before
  // `floor`.
  Found find(std::string_view text, size_t from, size_t floor) const;
  const Entry* longest_at(std::string_view text, size_t position) const;
  size_t next_candidate(std::string_view text, size_t from) const;

  std::vector<Entry> entries_;  // sorted by first byte, then longest first
  std::array<bool, 256> begins_{};
};

// An added token as transformers writes it: its content and its flags, without its id.
OrderedJson added_token_flags(const AddedToken& token);

// The member "added_tokens" of tokenizer.json: a list of tokens with their ids.
OrderedJson added_token_list(const std::vector<AddedToken>& tokens);

// The member "added_tokens_decoder" of tokenizer_config.json: the tokens by their ids.
OrderedJson added_tokens_decoder(const std::vector<AddedToken>& tokens);

}  // namespace berth
