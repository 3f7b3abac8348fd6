#include "entrypoint/flags/flag_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& accepted) {
  throw Error(Code::kUsage, cat(quoted(text), " is not ", accepted));
}

template <typename Number>
std::optional<Number> whole_text(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr std::string_view kTrueWords[] = {"true", "yes", "on", "1", "t", "y"};
constexpr std::string_view kFalseWords[] = {"false", "no", "off", "0", "f", "n"};

bool among(std::span<const std::string_view> words, std::string_view text) {
  return std::ranges::find(words, lower_ascii(text)) != words.end();
}

// Whether a variable begins here: $NAME, ${...} or $(...), as shells, Kubernetes and Vertex write
// them, {{...}} of Argo and Helm, %NAME% of Windows, or <...> of a manual.
bool begins_variable(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto ends = [&](size_t begin, std::string_view end) {
    const size_t at = text.find(end, begin);
    return at != text.npos && at > begin;
  };
  if (text.size() < 2) return false;
  if (text.starts_with("$(")) return ends(2, ")");
  if (text.starts_with("${")) return ends(2, "}");
  if (text.starts_with("{{")) return ends(2, "}}");
  if (text[0] == '<') return is_letter(text[1]) && ends(1, ">");
  if (text[0] == '%') {  // "%AB%CD" are bytes
    const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", 1);
    return end != text.npos && end > 3 && text[1] != '_' && text[end] == '%';
  }
  return text[0] == '$' && is_letter(text[1]);
}

}  // namespace

int64_t parse_integer(std::string_view text, IntegerRange range) {
  constexpr double kExact = 9007199254740992;  // 2^53; a larger double stands for several integers
  std::optional<int64_t> number = whole_text<int64_t>(text);
  if (!number) {
    const std::optional<double> real = whole_text<double>(text);
    if (real && std::trunc(*real) == *real && std::abs(*real) <= kExact) {
      number = static_cast<int64_t>(*real);
    }
  }
  if (!number || *number < range.low || *number > range.high) {
    refuse(text, cat("an integer from ", range.low, " to ", range.high));
  }
  return *number;
}

double parse_real(std::string_view text, const RealRange& range) {
  const std::optional<double> number = whole_text<double>(text);
  const bool fits = number && std::isfinite(*number) &&
                    (range.low_included ? *number >= range.low : *number > range.low) &&
                    (range.high_included ? *number <= range.high : *number < range.high);
  if (!fits) refuse(text, range.words);
  return *number;
}

bool is_switch_word(std::string_view text) {
  return among(kTrueWords, text) || among(kFalseWords, text);
}

bool parse_switch(std::string_view text) {
  if (!is_switch_word(text)) refuse(text, "true or false");
  return among(kTrueWords, text);
}

std::string parse_text(std::string_view text) {
  if (text.empty()) throw Error(Code::kUsage, "the value is empty", "", "leave the flag out");
  return std::string(text);
}

std::string parse_path(std::string_view text, const std::string& home) {
  const std::string path = parse_text(text);
  for (size_t at = 0; (at = path.find_first_of("$%{<", at)) != std::string::npos; ++at) {
    if (path.starts_with("./") || !begins_variable(std::string_view(path).substr(at))) continue;
    throw Error(Code::kUsage, cat(quoted(path), " holds a variable that nothing has replaced"), "",
                "give the path itself (the platform, or a shell without single quotes, replaces "
                "variables), or write ./ before it if this is its name");
  }
  if (!path.starts_with('~')) return path;
  if (path.size() > 1 && path[1] != '/') {
    throw Error(Code::kUsage,
                cat("the home directory of another user is not known: ", quoted(path)), "",
                "give its path, or write ./ before it if this is its name");
  }
  if (home.empty()) {
    throw Error(Code::kUsage, cat(quoted(path), " needs the variable HOME, which is not set"), "",
                "give the whole path");
  }
  return home + path.substr(1);
}

size_t parse_choice(std::string_view text, const std::vector<std::string>& names) {
  const auto plain = [](std::string_view word) {
    std::string lower = lower_ascii(word);
    std::ranges::replace(lower, '-', '_');
    return lower;
  };
  const auto found = std::ranges::find(names, plain(text), plain);
  if (found == names.end()) {
    refuse(text, cat(names.size() > 1 ? "one of " : "", joined(names, ", ")));
  }
  return static_cast<size_t>(found - names.begin());
}

std::string real_text(double value) {
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  const size_t zero = text.find("e-0");  // "5e-05" becomes "5e-5", as people write it
  if (zero != std::string::npos) text.erase(zero + 2, 1);
  return text;
}

}  // namespace berth
