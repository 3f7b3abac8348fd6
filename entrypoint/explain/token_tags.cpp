#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/program_names.h"
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
    if (opens(token)) ++depth;
    const bool is_end = closes(token);
    if (depth == 0 && (is_end || token.is_sign(','))) break;
    if (is_end) --depth;
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

// Finds whether an expression is the tags of the row whose words a function reads.
class TagRows {
 public:
  explicit TagRows(const PythonProgram& program)
      : program_(program), tokens_(program.tokens), assignments_(program.tokens) {}

  // rows["tags"][i], `tags` of "for i, tags in enumerate(rows["tags"])", or row["tags"] of one row.
  // A parameter is what the calls of its function give.
  bool is_row(PythonSpan value, size_t depth = 0) const {
    const std::optional<std::string> row = row_read_in(value);
    if (depth > kDeepest || value.end > tokens_.size()) return false;
    if (is_column(value)) return row && row->empty();
    const bool is_item = value.end > value.begin + 3 && tokens_[value.end - 1].is_sign(']') &&
                         tokens_[value.end - 3].is_sign('[');
    if (is_item) {
      return row && tokens_[value.end - 2].is_name(*row) && is_column({value.begin, value.end - 3});
    }
    const bool is_name = value.end == value.begin + 1 && is_name_at(value.begin);
    if (!is_name) return false;
    const AssignedValue* set = only_value(tokens_[value.begin].text, value.begin);
    if (set == nullptr) return is_given_row(value.begin, depth);
    const PythonSpan from = set->span;
    if (!tokens_[from.begin].is_name("enumerate")) return is_row(from, depth + 1);
    const AssignedValue* number = row ? only_value(*row, value.begin) : nullptr;
    return number != nullptr && number->span.begin == from.begin &&
           is_column({from.begin + 2, from.end - 1});
  }

 private:
  static constexpr size_t kDeepest = 8;

  bool is_name_at(size_t at) const { return tokens_[at].kind == PythonToken::Kind::kName; }

  // What the function around a token assigns to a name, where it does so once.
  const AssignedValue* only_value(const std::string& name, size_t at) const {
    const auto* values = assignments_.find(name, assignments_.scopes_of(at)[0]);
    return values == nullptr || values->size() > 1 || (*values)[0].is_changed ? nullptr
                                                                              : &(*values)[0];
  }

  // The number of the row in the call of word_ids() of the function around `value`; empty: it has
  // one row. nullopt: there is no such call.
  std::optional<std::string> row_read_in(PythonSpan value) const {
    const PythonSpan span = scope_of(value.begin).span;
    for (size_t i = span.begin; i + 2 < span.end; ++i) {
      if (!tokens_[i].is_name("word_ids") || !tokens_[i + 1].is_sign('(')) continue;
      const bool has_keyword = tokens_[i + 2].is_name("batch_index");
      const PythonToken& number = tokens_[i + (has_keyword ? 4 : 2)];
      return number.is_sign(')') ? "" : number.text;
    }
    return std::nullopt;
  }

  const PythonScope& scope_of(size_t at) const {
    return assignments_.scopes()[assignments_.scopes_of(at)[0]];
  }

  // rows["tags"], or a name for it.
  bool is_column(PythonSpan value) const {
    if (value.end == value.begin + 1 && is_name_at(value.begin)) {
      const AssignedValue* set = only_value(tokens_[value.begin].text, value.begin);
      if (set == nullptr) return false;
      value = set->span;
    }
    const bool is_item = value.end > value.begin + 3 && tokens_[value.begin + 1].is_sign('[') &&
                         tokens_[value.end - 1].is_sign(']');
    if (!is_item) return false;
    // rows[args.column], which another reader refuses without its name
    if (tokens_[value.begin + 3].is_sign('.')) return value.end == value.begin + 6;
    if (value.end != value.begin + 4) return false;
    const PythonToken& key = tokens_[value.begin + 2];
    const PythonValue* text = program_.assigned(key.text);
    return key.kind == PythonToken::Kind::kText || key.kind == PythonToken::Kind::kUnknownText ||
           (text != nullptr && text->kind == PythonValue::Kind::kText);
  }

  bool is_given_row(size_t at, size_t depth) const {
    const std::string& function = scope_of(at).function;
    const std::optional<size_t> place = scope_of(at).place_of(tokens_[at].text);
    if (!place) return false;
    const auto [known, is_new] =
        given_rows_.emplace(std::pair(scope_of(at).span.begin, *place), false);
    if (!is_new) return known->second;
    bool is_given = false;
    for (const PythonCall& call : program_.calls) {
      if (call.name != function) continue;
      const std::vector<PythonArgument> given = arguments_of(program_, call);
      const auto named = std::ranges::find(given, tokens_[at].text, &PythonArgument::keyword);
      if (named == given.end() && *place >= given.size()) return false;
      const PythonArgument& argument = named == given.end() ? given[*place] : *named;
      if (!is_row(argument.value, depth + 1)) return false;
      is_given = true;
    }
    return known->second = is_given;
  }

  const PythonProgram& program_;
  const std::vector<PythonToken>& tokens_;
  const Assignments assignments_;
  mutable std::map<std::pair<size_t, size_t>, bool> given_rows_;  // by functions and places
};

// Reads the function that goes through the words of a text's tokens.
class TagReader {
 public:
  TagReader(const PythonProgram& program, const TagRows& rows, PythonSpan span)
      : program_(program),
        rows_(rows),
        begin_(span.begin),
        tokens_(Tokens(program.tokens).subspan(span.begin, span.end - span.begin)) {}

  // Whether the first token of a word gets its tag, and no other one.
  bool tags_first_alone() {
    const std::set<std::string> lists = appended_lists();
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
      if (!is_tag_of_first(value, first_word(at))) return false;
      has_first = true;
    }
    return has_first;
  }

  // Whether the labels are such a list, or what a function of the program makes.
  bool sets_lists() const {
    const std::set<std::string> lists = appended_lists();
    for (size_t i = 0; i + 5 < tokens_.size(); ++i) {
      const bool is_labels =
          tokens_[i].kind == PythonToken::Kind::kText && tokens_[i].text == "labels";
      const bool is_item = tokens_[i + 1].is_sign(']');
      const bool adds = is_item && tokens_[i + 2].is_sign('.') && tokens_[i + 3].is_name("append");
      const bool sets = (is_item && tokens_[i + 2].is_sign('=')) || tokens_[i + 1].is_sign(':');
      if (!is_labels || (!adds && !sets)) continue;
      const size_t begin = i + (adds ? 5 : is_item ? 3 : 2);
      const size_t size = end_of_expression(tokens_, begin) - begin;
      const bool is_empty = size == 2 && tokens_[begin].is_sign('[') && !adds;
      const bool is_list = size == 1 && lists.contains(tokens_[begin].text);
      if (!is_empty && !is_list && !program_.functions.contains(tokens_[begin].text)) return false;
    }
    return true;
  }

 private:
  std::set<std::string> appended_lists() const {
    std::set<std::string> lists;
    for (size_t at = 0; at + 3 < tokens_.size(); ++at) {
      if (is_append(at)) lists.insert(tokens_[at].text);
    }
    return lists;
  }

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

  // tags[word] or number_of[tags[word]], without a call or a computation.
  bool is_tag(Tokens value, const std::string& word) const {
    const auto first = static_cast<size_t>(
        std::ranges::find_if(value, [](const PythonToken& t) { return t.is_sign('['); }) -
        value.begin());
    const bool is_mapped = value.size() >= first + 6 && value[value.size() - 2].is_sign(']');
    if (is_mapped && first > 0 && gives_numbers(value[first - 1].text)) {
      value = value.subspan(first + 1, value.size() - first - 2);
    }
    const size_t size = value.size();
    const bool is_item = size > 3 && value[size - 3].is_sign('[') && value[size - 1].is_sign(']');
    if (!is_item || !value[size - 2].is_name(word)) return false;
    const size_t begin = begin_ + static_cast<size_t>(value.data() - tokens_.data());
    return rows_.is_row({begin, begin + size - 3});
  }

  bool is_tag_of_first(Tokens value, const std::string& word) const {
    if (word.empty()) return false;
    if (is_tag(value, word)) return true;
    // The tag, but not of a token outside words: "-100 if word is None else label[word]".
    const size_t middle = find(value, "if"), last = find(value, "else");
    return last < value.size() && middle < last && is_ignored(value.first(middle)) &&
           holds(value.subspan(middle, last - middle), "None") &&
           is_tag(value.subspan(last + 1), word);
  }

  // WORD, where the call stands behind "if WORD != PREVIOUS:". Empty: it does not.
  std::string first_word(size_t at) const {
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
      return is_condition ? differing(header) : "";
    }
    return "";
  }

  // WORD of "WORD != PREVIOUS", where the loop then sets PREVIOUS to WORD.
  std::string differing(Tokens header) const {
    if (holds(header, "or")) return "";
    for (size_t i = 1; i + 2 < header.size(); ++i) {
      const bool is_unequal = header[i].is_sign('!') && header[i + 1].is_sign('=') &&
                              header[i + 2].kind == PythonToken::Kind::kName;
      if (is_unequal && is_set(header[i + 2].text, header[i - 1].text)) return header[i - 1].text;
    }
    return "";
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
  const TagRows& rows_;
  const size_t begin_;  // of the function's tokens in the program
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
  const TagRows rows(program);
  for (const auto& [name, span] : program.spans) {
    const Tokens tokens = Tokens(program.tokens).subspan(span.begin, span.end - span.begin);
    TagReader reader(program, rows, span);
    const bool reads = reads_words(tokens);
    if ((reads && !reader.tags_first_alone()) || !reader.sets_lists()) {
      return launch.refuse(
          cat(name, " (line ", tokens[0].line, ")"),
          cat("gives tags to other tokens than the first one of a word, or changes "
              "them. ",
              kFirstTag));
    }
    has_first = has_first || reads;
  }
  if (has_first) return;
  launch.refuse("the tags of tokens",
                cat("are made in code that the program does not hold, or in another way than by "
                    "word_ids(). ",
                    kFirstTag));
}

}  // namespace berth
