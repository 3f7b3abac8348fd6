#include "storage/expand.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"

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
      return !begins_code_point(byte);
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

namespace {

namespace fs = std::filesystem;

bool is_web(const Uri& uri) { return uri.scheme().starts_with("http"); }

// Another path in the same bucket, host or file system. An empty local path becomes ".".
Uri with_path(const Uri& uri, const std::string& path) {
  return uri.with_path(uri.is_local() && path.empty() ? "." : path);
}

// The directory that contains `uri`, without a trailing slash except for the root.
Uri parent_of(const Uri& uri) {
  std::string path = uri.path();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return with_path(uri, "");
  return with_path(uri, slash == 0 ? "/" : path.substr(0, slash));
}

// The beginning of all names below `directory`, followed by "x".
std::string prefix_of(const Uri& directory) { return (directory / "x").to_string(); }

// The names of the objects below `directory`, relative to it. Without `deep`, a local directory
// yields only its direct entries, because the tree below it may be very large.
std::vector<std::string> names_below(Storage& storage, const Uri& directory, bool deep,
                                     size_t enough = SIZE_MAX) {
  std::vector<std::string> names;
  std::error_code error;
  if (directory.is_local() && !deep && fs::is_directory(directory.path(), error)) {
    fs::directory_iterator entry = entries_of(directory.path(), error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code ignored;
      const bool is_directory = entry->is_directory(ignored);
      names.push_back(entry->path().filename().string() + (is_directory ? "/" : ""));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  const size_t prefix = prefix_of(directory).size() - 1;
  for (const Stat& stat : storage.list(directory, enough))
    names.push_back(stat.name.substr(prefix));
  return names;
}

bool shows(std::string_view pattern, char byte) {
  return pattern.starts_with(byte) || pattern.find(std::string{'/', byte}) != std::string::npos;
}

void say_passed_over(size_t count, const Uri& uri) {
  if (count == 0) return;
  log_debug(cat("skipped ", count, " hidden names in ", uri.to_string()));
}

std::vector<Uri> expand_pattern(Storage& storage, const Uri& uri) {
  const std::string& path = uri.path();
  const size_t slash = path.rfind('/', path.find_first_of("*?["));
  const size_t fixed = slash == std::string::npos ? 0 : slash + 1;
  const Uri directory = with_path(uri, path.substr(0, fixed));
  const std::string pattern = path.substr(fixed);
  const Glob glob(pattern);
  const bool deep = pattern.find("**") != std::string::npos || pattern.find('/') < pattern.size();

  std::vector<Uri> found;
  size_t passed_over = 0;
  for (const std::string& name : names_below(storage, directory, deep)) {
    // An empty name, or one that ends with a slash, is a web console's mark of a folder.
    if (name.empty() || name.ends_with('/') || !glob.matches(name)) continue;
    const char hidden = hidden_by(name);
    if (hidden != 0 && !shows(pattern, hidden)) {
      ++passed_over;
    } else {
      found.push_back(with_path(uri, path.substr(0, fixed) + name));
    }
  }
  say_passed_over(passed_over, uri);
  if (found.empty()) {
    throw Error(Code::kNotFound, "no file matches", uri.to_string(),
                "check the pattern, and quote it so that the shell does not expand it");
  }
  return found;
}

}  // namespace

char hidden_by(std::string_view name) {
  for (size_t begin = 0; begin < name.size(); ++begin) {
    const bool is_lock = name.substr(begin).starts_with("~$");
    if (name[begin] == '.' || name[begin] == '_' || is_lock) return name[begin];
    begin = std::min(name.find('/', begin), name.size());
  }
  return 0;
}

std::vector<Uri> files_among(const std::vector<std::string>& names, const Uri& uri,
                             const std::function<bool(std::string_view)>& is_wanted) {
  std::vector<Uri> found;
  size_t passed_over = 0;
  for (const std::string& name : names) {
    if (name.ends_with('/')) continue;  // a web console marks an empty folder with such an object
    if (hidden_by(name) != 0) {
      ++passed_over;
    } else if (is_wanted(last_part(name))) {
      found.push_back(uri / name);
    }
  }
  say_passed_over(passed_over, uri);
  return found;
}

std::vector<Uri> expand(Storage& storage, const Uri& uri,
                        const std::function<bool(std::string_view)>& is_wanted) {
  const bool names_directory = uri.path().ends_with('/') || uri.path().empty();
  const bool exists = !names_directory && storage.stat(uri).has_value();
  const bool is_packed = exists && is_archive(uri.file_name());
  if (exists && !is_packed) return {uri};
  if (!exists && is_web(uri)) {
    throw Error(Code::kNotFound, "no such file", uri.to_string(), "check the address");
  }
  if (!exists && has_wildcards(uri.path())) return expand_pattern(storage, uri);

  const std::vector<std::string> names = names_below(storage, uri, true);
  const std::vector<Uri> found = files_among(names, uri, is_wanted);
  if (!found.empty()) return found;
  if (is_packed) {
    throw Error(Code::kBadData, "is an archive without data files", uri.to_string(),
                "pack files of a supported format into it");
  }
  std::error_code ignored;
  if (!names.empty() || (uri.is_local() && fs::is_directory(uri.path(), ignored))) {
    throw Error(Code::kBadData, "is a directory without data files", uri.to_string(),
                "name a file, or a directory that contains data files");
  }
  std::string hint = similar_name(storage, uri);
  if (hint.empty()) hint = "check the spelling, and in a container that the volume is mounted";
  throw Error(Code::kNotFound, "no such file or directory", uri.to_string(), hint);
}

std::string similar_name(Storage& storage, const Uri& uri) {
  constexpr size_t kEnough = 1000;  // one page of a listing: a bucket may hold millions
  if (is_web(uri)) return "";
  const Uri directory = parent_of(uri);
  std::string wanted = uri.path();
  while (wanted.size() > 1 && wanted.ends_with('/')) wanted.pop_back();
  wanted = std::string(last_part(wanted));
  std::set<std::string> candidates;
  try {
    for (const std::string& name : names_below(storage, directory, false, kEnough)) {
      candidates.insert(name.substr(0, name.find('/')));
    }
  } catch (const Error&) {
    return "";  // without permission to list there is no hint
  }
  if (candidates.contains(wanted) && !uri.path().ends_with('/'))
    return "it is a folder: name the file in it";
  std::string nearest;
  size_t least = std::max<size_t>(2, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(wanted, candidate);
    if (distance < least) nearest = candidate, least = distance;
  }
  return nearest.empty() ? "" : cat("did you mean ", (directory / nearest).to_string(), "?");
}

}  // namespace berth
