#include "storage/glob.h"

#include <algorithm>

namespace berth {
namespace {

bool in_set(std::string_view set, char byte) {
  for (size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      if (set[i] <= byte && byte <= set[i + 2]) return true;
      i += 2;
    } else if (set[i] == byte) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool has_wildcards(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

Glob::Glob(std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char byte = pattern[i];
    if (byte == '*' && pattern.substr(i).starts_with("**")) {
      const bool whole_part = (i == 0 || pattern[i - 1] == '/') && pattern.substr(i + 2, 1) == "/";
      if (whole_part) tokens_.push_back({.kind = Kind::kOptionalDirs});
      tokens_.push_back({.kind = Kind::kDeepStar});
      ++i;
    } else if (byte == '*') {
      tokens_.push_back({.kind = Kind::kStar});
    } else if (byte == '?') {
      tokens_.push_back({.kind = Kind::kAny});
      tokens_.push_back({.kind = Kind::kContinuation});
    } else if (byte == '[') {
      const bool negated = pattern.substr(i + 1, 1) == "!" || pattern.substr(i + 1, 1) == "^";
      const size_t begin = i + 1 + (negated ? 1 : 0);
      const size_t end =
          pattern.find(']', begin + 1);  // a set has at least one character: "[]]" contains "]"
      if (end == std::string_view::npos) {
        tokens_.push_back({.kind = Kind::kLiteral, .byte = byte});
        continue;
      }
      tokens_.push_back({.kind = Kind::kSet,
                         .set = std::string(pattern.substr(begin, end - begin)),
                         .negated = negated});
      tokens_.push_back({.kind = Kind::kContinuation});
      i = end;
    } else {
      tokens_.push_back({.kind = Kind::kLiteral, .byte = byte});
    }
  }
}

bool Glob::repeats(Kind kind) {
  return kind == Kind::kStar || kind == Kind::kDeepStar || kind == Kind::kContinuation;
}

bool Glob::accepts(const Token& token, char byte) {
  switch (token.kind) {
    case Kind::kLiteral:
      return byte == token.byte;
    case Kind::kAny:
    case Kind::kStar:
      return byte != '/';
    case Kind::kSet:
      return byte != '/' && in_set(token.set, byte) != token.negated;
    case Kind::kContinuation:
      return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
    case Kind::kDeepStar:
      return true;
    case Kind::kOptionalDirs:
      return false;
  }
  return false;
}

// A state is the number of tokens that have matched. Adds the states that are reachable without
// consuming a byte.
void Glob::follow(std::vector<bool>& states) const {
  for (size_t state = 0; state < tokens_.size(); ++state) {
    if (!states[state]) continue;
    const Kind kind = tokens_[state].kind;
    if (kind == Kind::kOptionalDirs) states[state + 3] = true;
    if (kind == Kind::kOptionalDirs || repeats(kind)) states[state + 1] = true;
  }
}

bool Glob::matches(std::string_view path) const {
  std::vector<bool> states(tokens_.size() + 1), next(states.size());
  states[0] = true;
  follow(states);
  for (const char byte : path) {
    std::fill(next.begin(), next.end(), false);
    for (size_t state = 0; state < tokens_.size(); ++state) {
      if (!states[state] || !accepts(tokens_[state], byte)) continue;
      next[repeats(tokens_[state].kind) ? state : state + 1] = true;
    }
    follow(next);
    states.swap(next);
  }
  return states.back();
}

}  // namespace berth
