#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Whether `text` holds one of * ? [
bool has_wildcards(std::string_view text);

// A pattern of paths: `*` and `?` (one character) and `[abc]`, `[a-z]`, `[!abc]` stay within a
// part, `**` crosses parts, and `**/` is also no part at all. A `[` that nothing closes is itself.
// Takes time in proportion to pattern times path, whatever they are.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  bool matches(std::string_view path) const;

 private:
  enum class Kind {
    kLiteral,       // this byte
    kAny,           // one byte but "/"
    kSet,           // one byte of `set`, or not of it
    kContinuation,  // the rest of a UTF-8 character, if any
    kStar,          // any bytes but "/"
    kDeepStar,      // any bytes
    kOptionalDirs,  // nothing; the two tokens after it may be left out
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
