#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// A token cut out of the text before words are looked for: [SEP], or one that a user added.
struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool single_word = false;  // not where a letter or digit touches it
  bool lstrip = false;       // swallows the whitespace before it
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in normalized text, in its own normalized form
  bool special = true;
};

// Finds them: leftmost first, the longest where several begin (tokenizers' added_vocabulary.rs).
// Immutable, thread-safe.
class AddedTokenFinder {
 public:
  // `patterns[i]` is what the text must hold for tokens[i]; an empty one is never found.
  AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& patterns);

  bool empty() const { return entries_.empty(); }

  // Part of a text: a token's id with what it takes of the text, or -1 and the text between tokens.
  struct Piece {
    int32_t id;
    std::string_view text;
  };
  // Pieces in order; calls `visit(piece)` until it returns false.
  template <typename Visit>
  void split(std::string_view text, Visit visit) const {
    size_t begin = 0, search_from = 0;
    while (begin < text.size()) {
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
    const Entry* entry;  // null: none
    size_t begin, end, match_end;
  };

  // The first at or after `from`; whitespace that it swallows is not before `floor`.
  Found find(std::string_view text, size_t from, size_t floor) const;
  const Entry* longest_at(std::string_view text, size_t position) const;
  size_t next_candidate(std::string_view text, size_t from) const;

  std::vector<Entry> entries_;  // by first byte, longest first
  std::array<bool, 256> begins_{};
};

}  // namespace berth
