#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Whether `text` contains "*", "?" or "[".
bool has_wildcards(std::string_view text);

// A pattern for paths. `*`, `?` (one character), `[abc]`, `[a-z]` and `[!abc]` match within one
// part of a path. `**` also matches "/", and `**/` may match nothing at all. A `[` without a
// closing `]` matches itself. Matching takes time proportional to pattern length times path length,
// for any pattern.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  bool matches(std::string_view path) const;

 private:
  enum class Kind {
    kLiteral,       // this byte
    kAny,           // one byte except "/"
    kSet,           // one byte except "/", in `set` or, if negated, not in it
    kContinuation,  // the remaining bytes of a UTF-8 character
    kStar,          // any number of bytes except "/"
    kDeepStar,      // any number of bytes
    kOptionalDirs,  // nothing; the next two tokens may be skipped
  };
  struct Token {
    Kind kind;
    char byte = 0;
    std::string set{};
    bool negated = false;
  };
  static bool repeats(Kind kind);
  static bool accepts(const Token& token, char byte);
  void follow(std::vector<bool>& states) const;

  std::vector<Token> tokens_;
};

}  // namespace berth
