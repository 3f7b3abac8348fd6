#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/storage.h"

// From a pattern, a directory or an archive to the objects that it names. Thread-safe. The
// functions that list objects throw what the storage throws.
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

// Returns the objects that `uri` names, sorted by name; there is at least one. `uri` may be
//  - an object with exactly this name, whatever characters it contains, unless it is an archive;
//  - a pattern, which is matched against one list() of its literal prefix;
//  - a directory or an archive: every object below it whose file name `is_wanted` accepts.
// Patterns and directories skip names that begin with ".", "_" or "~$", and names in such a
// directory, unless the pattern spells that character out. Throws kNotFound if nothing matches,
// with a similar name as a hint if there is one. Throws kBadData if a directory has no file that is
// wanted.
std::vector<Uri> expand(Storage& storage, const Uri& uri,
                        const std::function<bool(std::string_view file_name)>& is_wanted);

// The objects below a directory, or in an archive, that expand() would return. `names` are all of
// its objects, relative to `uri` and sorted.
std::vector<Uri> files_among(const std::vector<std::string>& names, const Uri& uri,
                             const std::function<bool(std::string_view file_name)>& is_wanted);

// If a part of `name` begins with ".", "_" or "~$", which hides it, returns the first character of
// that; otherwise 0. Office programs write "~$train.csv" while train.csv is open.
char hidden_by(std::string_view name);

// Returns "did you mean NAME?" with the most similar name among the objects and directories beside
// `uri`, or an empty string if none is similar. Calls list() once and reads at most about a
// thousand names.
std::string similar_name(Storage& storage, const Uri& uri);

}  // namespace berth
