#include "storage/formats/tensorflow_checkpoint.h"

#include <optional>

#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::string_view kNewestKey = "model_checkpoint_path";

[[noreturn]] void fail_at_line(size_t line, const std::string& what) {
  throw Error(Code::kCorrupt, what, cat("line ", line));
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Parses \ooo or \xhh. `at` is the index after the backslash and is moved past the escape. Returns
// nullopt if there are no digits.
std::optional<char> numeric_escape(std::string_view text, size_t& at) {
  const bool is_hex = text[at] == 'x';
  const size_t begin = at + is_hex, most = is_hex ? 2 : 3;
  const int base = is_hex ? 16 : 8;
  int value = 0;
  size_t end = begin;
  for (; end < text.size() && end - begin < most && digit(text[end]) < base; ++end) {
    value = value * base + digit(text[end]);
  }
  if (end == begin) return std::nullopt;
  at = end;
  return static_cast<char>(value);
}

std::optional<char> simple_escape(char c) {
  constexpr std::string_view kLetters = "ntr\\\"'", kMeans = "\n\t\r\\\"'";
  const size_t found = kLetters.find(c);
  return found == std::string_view::npos ? std::nullopt : std::optional(kMeans[found]);
}

// Returns the value of a quoted string in protobuf's text format, which has C's escapes.
std::string unquoted(std::string_view text, size_t line) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') ||
      text.back() != text.front()) {
    fail_at_line(line, "a quoted path is missing");
  }
  const std::string_view content = text.substr(1, text.size() - 2);
  std::string path;
  for (size_t at = 0; at < content.size();) {
    if (content[at] == text.front()) fail_at_line(line, "text after the closing quote");
    if (content[at] != '\\') {
      path += content[at++];
      continue;
    }
    if (++at == content.size()) fail_at_line(line, "the quoted path does not end");
    if (const auto simple = simple_escape(content[at])) {
      path += *simple;
      ++at;
    } else if (const auto numeric = numeric_escape(content, at)) {
      path += *numeric;
    } else {
      fail_at_line(line, cat("an unknown escape: \\", content[at]));
    }
  }
  return path;
}

bool is_absolute(std::string_view path) {
  return path.starts_with('/') || path.find("://") != std::string_view::npos;
}

// Whether any part of the path is "..".
bool climbs(std::string_view path) {
  while (true) {
    const size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

// If the key appears several times, the last value wins, as in protobuf's own parser.
std::optional<std::string> latest_path(std::string_view text) {
  std::optional<std::string> path;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    const std::string_view content = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (content.empty() || content.starts_with('#')) continue;
    const size_t colon = content.find(':');
    if (colon == std::string_view::npos) fail_at_line(line, "no \"key: value\"");
    if (trimmed(content.substr(0, colon)) != kNewestKey) continue;
    path = unquoted(trimmed(content.substr(colon + 1)), line);
  }
  return path;
}

}  // namespace

std::vector<std::string> latest_checkpoint_prefixes(std::string_view state_file) {
  const std::optional<std::string> path = latest_path(state_file);
  if (!path || path->empty()) return {};
  std::vector<std::string> prefixes;
  const bool absolute = is_absolute(*path);
  if (absolute || !climbs(*path)) prefixes.push_back(*path);
  if (absolute || climbs(*path)) {
    const std::string name(last_part(*path));
    if (!name.empty() && name != "..") prefixes.push_back(name);
  }
  return prefixes;
}

namespace {

constexpr uint64_t kMostNameBytes = uint64_t{1} << 25;

struct Attribute {
  std::string_view full_name, checkpoint_key;
};

Attribute parse_attribute(Bytes message) {
  Attribute attribute;
  ProtoField field;
  for (ProtoReader reader(message); reader.next(field);) {
    if (field.number == 2) attribute.full_name = field.as_text();
    if (field.number == 3) attribute.checkpoint_key = field.as_text();
  }
  return attribute;
}

template <typename Visit>
void each_attribute(Bytes node, Visit visit) {
  ProtoField field;
  for (ProtoReader reader(node); reader.next(field);) {
    if (field.number == 2) visit(parse_attribute(field.as_bytes()));
  }
}

}  // namespace

std::map<std::string, std::string, std::less<>> full_names(Bytes object_graph) try {
  std::map<std::string, std::string, std::less<>> names;
  constexpr uint64_t kEach = 128;  // bytes that the map itself needs for an entry
  uint64_t bytes = 0;
  ProtoField field;
  for (ProtoReader reader(object_graph); reader.next(field);) {
    if (field.number != 1) continue;
    each_attribute(field.as_bytes(), [&](const Attribute& attribute) {
      if (attribute.full_name.empty() || attribute.checkpoint_key.empty()) return;
      bytes += attribute.full_name.size() + attribute.checkpoint_key.size() + kEach;
      if (bytes > kMostNameBytes) {
        throw Error(Code::kCorrupt, cat("more than ", human_bytes(kMostNameBytes), " of names"));
      }
      names.emplace(attribute.checkpoint_key, attribute.full_name);
    });
  }
  return names;
} catch (const Error& error) {
  throw error.at("tensor " + quoted(kObjectGraphKey));
}

}  // namespace berth
