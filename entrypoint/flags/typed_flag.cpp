#include "entrypoint/flags/typed_flag.h"

#include <algorithm>
#include <string_view>

namespace berth {
namespace {

// Locales play no part.
bool means_itself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

bool needs_no_quotes(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, means_itself);
}

// A negative number does not.
bool looks_like_flag(std::string_view value) {
  const bool is_dashed = value.size() > 1 && value[0] == '-';
  return is_dashed && std::string_view("0123456789.").find(value[1]) == std::string_view::npos;
}

std::string between_double_quotes(const std::string& word, std::string_view escaped) {
  std::string text = "\"";
  for (const char c : word) {
    if (escaped.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text + '"';
}

// Nothing has a meaning there, so a quote stands outside of it.
std::string between_single_quotes(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string shell_quoted(const std::string& word, bool expands) {
  if (needs_no_quotes(word)) return word;
  if (expands && word.starts_with("~/") && needs_no_quotes(word.substr(1))) return word;
  if (expands && word.find('$') != std::string::npos) return between_double_quotes(word, "\"\\`");
  // Between double quotes, an interactive shell looks up !word in its history.
  const bool has_quote = word.find('\'') != std::string::npos;
  if (!has_quote || word.find('!') != std::string::npos) return between_single_quotes(word);
  return between_double_quotes(word, "\"\\`$");
}

std::string typed_flag(const Flag& flag, const std::string& value, bool expands) {
  const std::string name = "--" + flag.name;
  if (flag.value.is_switch && is_switch_word(value)) {
    return parse_switch(value) ? name : "--no-" + flag.name;
  }
  const bool is_joined = flag.value.is_switch || looks_like_flag(value);
  return name + (is_joined ? "=" : " ") + shell_quoted(value, expands);
}

}  // namespace berth
