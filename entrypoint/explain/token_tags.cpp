#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "entrypoint/explain/program_parts.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using Tokens = std::span<const PythonToken>;

constexpr std::string_view kTagSwitch = "label_all_tokens";
constexpr std::string_view kFirstTag =
    "In berth the first token of a word carries its tag, and the others count nothing";

bool holds(Tokens tokens, std::string_view name) {
  return std::ranges::any_of(tokens, [&](const PythonToken& token) { return token.is_name(name); });
}

// Where the expression at `at` ends: at a comma, a line's end, or the bracket that closes it.
size_t end_of_expression(Tokens tokens, size_t at) {
  size_t depth = 0;
  for (; at < tokens.size(); ++at) {
    const PythonToken& token = tokens[at];
    if (token.kind == PythonToken::Kind::kLineEnd) break;
    if (token.is_sign('(') || token.is_sign('[') || token.is_sign('{')) ++depth;
    const bool closes = token.is_sign(')') || token.is_sign(']') || token.is_sign('}');
    if (depth == 0 && (closes || token.is_sign(','))) break;
    if (closes) --depth;
  }
  return at;
}

// -100, for a token that counts nothing.
bool is_ignored(Tokens value) {
  return value.size() == 2 && value[0].is_sign('-') && value[1].text == "100";
}

// Whether a mapping with this name gives each name of a tag its number.
bool gives_numbers(std::string_view name) {
  return name.find("id") != name.npos || name.ends_with("ix") || name.find("index") != name.npos;
}

// label[word] or number_of[label[word]], without a call or a computation.
bool is_tag(Tokens value) {
  const bool is_mapped =
      value.size() > 2 && value[1].is_sign('[') &&
      std::ranges::count_if(value, [](const PythonToken& token) { return token.is_sign('['); }) > 1;
  if (is_mapped && !gives_numbers(value[0].text)) return false;
  return !value.empty() && value[0].kind == PythonToken::Kind::kName &&
         std::ranges::all_of(value, [](const PythonToken& token) {
           return token.kind == PythonToken::Kind::kName || token.is_sign('[') ||
                  token.is_sign(']') || token.is_sign('.');
         });
}

// Reads the function that goes through the words of a text's tokens.
class TagReader {
 public:
  TagReader(const PythonProgram& program, Tokens tokens) : program_(program), tokens_(tokens) {}

  // Whether the first token of a word gets its tag, and no other one.
  bool tags_first_alone() {
    std::set<std::string> lists;
    for (size_t at = 0; at + 3 < tokens_.size(); ++at) {
      if (is_append(at)) lists.insert(tokens_[at].text);
    }
    bool has_first = false;
    for (size_t at = 0; at + 3 < tokens_.size(); ++at) {
      const bool is_list_name =
          tokens_[at].kind == PythonToken::Kind::kName && lists.contains(tokens_[at].text);
      if (is_list_name && adds_otherwise(at)) return false;
      if (!is_append(at)) continue;
      const size_t begin = at + 4, end = end_of_expression(tokens_, begin);
      const Tokens value = tokens_.subspan(begin, end - begin);
      const bool is_list = value.size() == 1 && lists.contains(value[0].text);
      const bool is_function = value.size() > 1 && program_.functions.contains(value[0].text);
      if (is_list || is_function || is_ignored(chosen(value))) continue;
      if (!is_first(at) || !is_tag_of_first(value)) return false;
      has_first = true;
    }
    return has_first;
  }

 private:
  bool is_append(size_t at) const {
    return tokens_[at].kind == PythonToken::Kind::kName && tokens_[at + 1].is_sign('.') &&
           tokens_[at + 2].is_name("append") && tokens_[at + 3].is_sign('(');
  }

  // list.extend(...), list += ..., list[i] = ...
  bool adds_otherwise(size_t at) const {
    const bool calls = tokens_[at + 1].is_sign('.') && !tokens_[at + 2].is_name("append");
    const bool extends = tokens_[at + 1].is_sign('+') && tokens_[at + 2].is_sign('=');
    return calls || extends || tokens_[at + 1].is_sign('[');
  }

  static size_t find(Tokens value, std::string_view name) {
    const auto found =
        std::ranges::find_if(value, [&](const PythonToken& token) { return token.is_name(name); });
    return static_cast<size_t>(found - value.begin());
  }

  // What "A if SWITCH else B" is, where the program says whether the switch is on.
  Tokens chosen(Tokens value) const {
    const size_t middle = find(value, "if"), last = find(value, "else");
    if (middle + 2 != last || last >= value.size()) return value;
    const std::optional<bool> is_on = switch_value(value[middle + 1].text);
    if (!is_on) return value;
    return *is_on ? value.first(middle) : value.subspan(last + 1);
  }

  // The one value of a name: a literal, an argument of a call, or a default.
  std::optional<bool> switch_value(const std::string& name) const {
    bool is_true = name == "True", is_false = name == "False";
    const auto see = [&](const PythonValue* value) {
      if (value == nullptr) return;
      if (value->text != "False") is_true = true;
      if (value->text == "False") is_false = true;
    };
    for (const PythonCall& call : program_.calls) {
      see(call.find(name));
      const PythonValue* given = call.find("fn_kwargs");
      if (given == nullptr) continue;
      const auto key = std::ranges::find(given->keys, name);
      if (key == given->keys.end()) continue;
      see(&given->items[static_cast<size_t>(key - given->keys.begin())]);
    }
    see(program_.assigned(name));
    if (is_true == is_false) return std::nullopt;
    return is_true;
  }

  bool is_tag_of_first(Tokens value) const {
    if (is_tag(value)) return true;
    // The tag, but not of a token outside words: "-100 if word is None else label[word]".
    const size_t middle = find(value, "if"), last = find(value, "else");
    return last < value.size() && middle < last && is_ignored(value.first(middle)) &&
           holds(value.subspan(middle, last - middle), "None") && is_tag(value.subspan(last + 1));
  }

  // Whether the call stands behind "if WORD != PREVIOUS:".
  bool is_first(size_t at) const {
    const size_t line = tokens_[at].line;
    size_t column = tokens_[at].column;
    while (at > 0 && tokens_[at - 1].line == line) --at;
    column = std::min(column, tokens_[at].column);
    while (at > 0) {
      size_t begin = --at;
      while (begin > 0 && tokens_[begin - 1].kind != PythonToken::Kind::kLineEnd) --begin;
      const Tokens header = tokens_.subspan(begin, at - begin);
      at = begin;
      if (header.empty() || header[0].column >= column) continue;
      const bool is_condition = header[0].is_name("if") || header[0].is_name("elif");
      return is_condition && differs(header);
    }
    return false;
  }

  // "WORD != PREVIOUS", where the loop then sets PREVIOUS to WORD.
  bool differs(Tokens header) const {
    if (holds(header, "or")) return false;
    for (size_t i = 1; i + 2 < header.size(); ++i) {
      const bool is_unequal = header[i].is_sign('!') && header[i + 1].is_sign('=') &&
                              header[i + 2].kind == PythonToken::Kind::kName;
      if (is_unequal && is_set(header[i + 2].text, header[i - 1].text)) return true;
    }
    return false;
  }

  bool is_set(const std::string& name, const std::string& value) const {
    for (size_t i = 0; i + 3 < tokens_.size(); ++i) {
      if (tokens_[i].is_name(name) && tokens_[i + 1].is_sign('=') &&
          tokens_[i + 2].is_name(value) && tokens_[i + 3].kind == PythonToken::Kind::kLineEnd) {
        return true;
      }
    }
    return false;
  }

  const PythonProgram& program_;
  const Tokens tokens_;
};

bool is_true_word(const PythonValue* value) { return value != nullptr && value->text == "True"; }

// Whether a function goes through the words of tokens, and leaves some out by -100.
bool reads_words(Tokens tokens) {
  const auto is_word = [](const PythonToken& token) {
    return token.kind == PythonToken::Kind::kName && token.text.starts_with("word_id");
  };
  return std::ranges::any_of(tokens, is_word) &&
         std::ranges::any_of(tokens, [](const PythonToken& token) { return token.text == "100"; });
}

}  // namespace

void check_token_tags(const PythonProgram& program, Launch& launch) {
  const bool is_default = std::ranges::any_of(
      program.calls, [&](const PythonCall& call) { return is_true_word(call.find(kTagSwitch)); });
  if (is_default || is_true_word(program.assigned(kTagSwitch))) {
    return launch.refuse(
        kTagSwitch, cat("is on, so that all tokens of a word count. ", kFirstTag, "; turn it off"));
  }
  bool has_first = false;
  for (const auto& [name, span] : program.spans) {
    const Tokens tokens = Tokens(program.tokens).subspan(span.begin, span.end - span.begin);
    if (!reads_words(tokens)) continue;
    if (!TagReader(program, tokens).tags_first_alone()) {
      return launch.refuse(
          cat(name, " (line ", tokens[0].line, ")"),
          cat("gives tags to other tokens than the first one of a word, or changes "
              "them. ",
              kFirstTag));
    }
    has_first = true;
  }
  if (has_first) return;
  launch.refuse("the tags of tokens",
                cat("are made in code that the program does not hold, or in another way than by "
                    "word_ids(). ",
                    kFirstTag));
}

}  // namespace berth
