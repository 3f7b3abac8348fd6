#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/program_parts.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using ValueKind = PythonValue::Kind;

// What parser.add_argument(...) makes.
struct ParserOption {
  std::string name{};  // "lr" of "args.lr"
  std::vector<std::string> flags{};
  std::string type{}, action{};
  bool has_list = false;
  PythonValue value{};  // without a flag in the line

  bool is_switch() const { return action == "store_true" || action == "store_false"; }
  bool has_opposite() const { return last_name(action) == "BooleanOptionalAction"; }
};

constexpr std::string_view kNegation = "--no-";

// The text as a value of the option's type.
PythonValue typed_value(const ParserOption& option, const std::string& text) {
  if (option.type.empty() || option.type == "str") return {.kind = ValueKind::kText, .text = text};
  if (option.type == "int" || option.type == "float")
    return {.kind = ValueKind::kWord, .text = text};
  if (option.type == "bool")
    return {.kind = ValueKind::kWord, .text = text.empty() ? "False" : "True"};
  return {};
}

std::optional<ParserOption> option_of(const PythonCall& call) {
  ParserOption option;
  for (const PythonValue& flag : call.positional) {
    if (flag.kind == ValueKind::kText && flag.text.starts_with('-'))
      option.flags.push_back(flag.text);
  }
  if (option.flags.empty()) return std::nullopt;
  const auto word = [&](std::string_view keyword) {
    const PythonValue* value = call.find(keyword);
    return value == nullptr ? std::string() : value->is_known() ? value->text : value->name;
  };
  const auto is_long = [](const std::string& flag) { return flag.starts_with("--"); };
  const auto first = std::ranges::find_if(option.flags, is_long);
  option.name = word("dest");
  if (option.name.empty()) {
    option.name = first == option.flags.end() ? option.flags[0] : *first;
    option.name.erase(0, option.name.find_first_not_of('-'));
    std::ranges::replace(option.name, '-', '_');
  }
  option.type = word("type");
  option.action = word("action");
  option.has_list = call.find("nargs") != nullptr;
  for (size_t i = option.flags.size(); i-- > 0 && option.has_opposite();) {
    if (is_long(option.flags[i])) option.flags.push_back(cat(kNegation, option.flags[i].substr(2)));
  }
  const PythonValue* usual = call.find("default");
  if (usual != nullptr && usual->text != "None") option.value = *usual;
  if (option.value.kind == ValueKind::kText) option.value = typed_value(option, option.value.text);
  if (option.is_switch() && usual == nullptr) {
    option.value = {.kind = ValueKind::kWord,
                    .text = option.action == "store_true" ? "False" : "True"};
  }
  return option;
}

// Takes the option's value from the words at `at`, and says how many words it has.
size_t take_words(ParserOption& option, const std::vector<std::string>& words, size_t at) {
  const size_t sign = words[at].find('=');
  if (option.is_switch() || option.has_opposite()) {
    const bool is_on =
        option.is_switch() ? option.action == "store_true" : !words[at].starts_with(kNegation);
    option.value = {.kind = ValueKind::kWord, .text = is_on ? "True" : "False"};
    return 1;
  }
  const bool is_single = option.action.empty() || option.action == "store";
  const auto take = [&](const std::string& text) {
    option.value = is_single && !option.has_list ? typed_value(option, text) : PythonValue();
  };
  if (sign != std::string::npos) {
    take(words[at].substr(sign + 1));
    return 1;
  }
  option.value = PythonValue();
  if (at + 1 < words.size() && is_single) take(words[at + 1]);
  size_t count = is_single && !option.has_list ? 2 : 1;
  while (option.has_list && at + count < words.size() && !words[at + count].starts_with('-')) {
    ++count;
  }
  return std::min(count, words.size() - at);
}

// Whether the program gives its options values that neither its line nor their defaults have.
bool sets_options(const PythonProgram& program, bool has_line) {
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    if (name == "set_defaults" || name.ends_with("Namespace") || name == "setattr") return true;
    const bool parses = name == "parse_args" || name == "parse_known_args";
    const bool has_words = call.arguments.begin < call.arguments.end;
    const PythonValue given =
        call.positional.size() == 1 && call.keywords.empty() ? call.positional[0] : PythonValue();
    const bool is_empty = given.kind == ValueKind::kList && given.items.empty();
    const bool is_line = given.text == "None" || (is_empty && !has_line);
    if (parses && has_words && !is_line) return true;
  }
  const std::vector<PythonToken>& tokens = program.tokens;
  for (size_t i = 0; i + 9 < tokens.size(); ++i) {
    const bool calls = tokens[i].is_name("vars") && tokens[i + 1].is_sign('(');
    if (!calls && !tokens[i].is_name("__dict__")) continue;
    size_t end = i;
    while (calls && end < i + 6 && !tokens[end].is_sign(')')) ++end;
    const bool is_read = tokens[end + 1].is_sign(')') || tokens[end + 1].is_sign(',') ||
                         tokens[end + 2].is_name("items");
    if (!is_read) return true;
  }
  return false;
}

}  // namespace

std::map<std::string, PythonValue> take_options(const PythonProgram& program,
                                                std::vector<std::string>& words) {
  std::vector<ParserOption> options;
  if (sets_options(program, !words.empty())) return {};
  for (const PythonCall& call : program.calls) {
    if (last_name(call.name) != "add_argument") continue;
    if (std::optional<ParserOption> option = option_of(call)) options.push_back(std::move(*option));
  }
  std::vector<std::string> others;
  for (size_t at = 0; at < words.size();) {
    const std::string flag = words[at].substr(0, words[at].find('='));
    const auto option = std::ranges::find_if(
        options, [&](const ParserOption& row) { return is_one_of(row.flags, flag); });
    if (option == options.end()) {
      others.push_back(words[at++]);
    } else {
      at += take_words(*option, words, at);
    }
  }
  words = std::move(others);
  std::map<std::string, PythonValue> values;
  for (const ParserOption& option : options) {
    const bool is_new = values.emplace(option.name, option.value).second;
    if (!is_new) values[option.name] = PythonValue();  // of several parsers
  }
  return values;
}

}  // namespace berth
