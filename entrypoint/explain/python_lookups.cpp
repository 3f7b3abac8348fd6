#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/explain/program_names.h"
#include "entrypoint/explain/python_reader.h"

// What the readers of a program look up in it.
namespace berth {

const PythonValue* PythonCall::find(std::string_view keyword) const {
  for (const auto& [known, value] : keywords) {
    if (known == keyword) return &value;
  }
  return nullptr;
}

const PythonValue* PythonProgram::assigned(std::string_view name) const {
  for (const auto& [known, value] : assignments) {
    if (known == name) return &value;
  }
  return nullptr;
}

PythonSpan find_assigned(const PythonProgram& program, std::string_view name) {
  const std::vector<PythonToken>& tokens = program.tokens;
  PythonSpan found;
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    const bool begins = i == 0 || tokens[i - 1].kind == PythonToken::Kind::kLineEnd;
    if (!begins || !tokens[i].is_name(name)) continue;
    if (tokens[i + 1].is_sign('[')) return {};
    if (!tokens[i + 1].is_sign('=') || tokens[i + 2].is_sign('=')) continue;
    if (found.end > 0) return {};
    found = {i + 2, i + 2};
    while (tokens[found.end].kind != PythonToken::Kind::kLineEnd) ++found.end;
  }
  return found;
}

namespace {

// The name that is the whole value; empty: it is something else.
std::string_view whole_name(const PythonProgram& program, PythonSpan value) {
  const bool is_name =
      value.end == value.begin + 1 && program.tokens[value.begin].kind == PythonToken::Kind::kName;
  return is_name ? std::string_view(program.tokens[value.begin].text) : "";
}

}  // namespace

const PythonCall* find_call_of(const PythonProgram& program, PythonSpan value) {
  if (const std::string_view name = whole_name(program, value); !name.empty()) {
    value = find_assigned(program, name);
  }
  for (const PythonCall& call : program.calls) {
    const auto dots = static_cast<size_t>(std::ranges::count(call.name, '.'));
    const size_t before = 2 * dots + 2;  // the tokens of "a.b("
    if (!call.name.starts_with('.') && call.arguments.begin == value.begin + before &&
        call.arguments.end + 1 == value.end) {
      return &call;
    }
  }
  return nullptr;
}

std::vector<std::pair<std::string, PythonSpan>> find_entries(const PythonProgram& program,
                                                             PythonSpan value) {
  const std::vector<PythonToken>& tokens = program.tokens;
  if (const std::string_view name = whole_name(program, value); !name.empty()) {
    value = find_assigned(program, name);
  }
  if (value.end > value.begin + 2 && tokens[value.begin].is_name("DatasetDict")) value.begin += 2;
  std::vector<std::pair<std::string, PythonSpan>> entries;
  if (value.begin >= value.end || !tokens[value.begin].is_sign('{')) return entries;
  size_t at = value.begin + 1;
  while (at + 1 < value.end && !tokens[at].is_sign('}')) {
    if (tokens[at].kind != PythonToken::Kind::kText || !tokens[at + 1].is_sign(':')) return {};
    PythonSpan item{at + 2, at + 2};
    size_t depth = 0;
    for (; item.end < value.end; ++item.end) {
      const PythonToken& token = tokens[item.end];
      const bool is_end = closes(token);
      if (depth == 0 && (token.is_sign(',') || is_end)) break;
      if (is_end) --depth;
      if (opens(token)) ++depth;
    }
    entries.emplace_back(tokens[at].text, item);
    at = item.end + (item.end < value.end && tokens[item.end].is_sign(',') ? 1 : 0);
  }
  return entries;
}

const PythonCall* find_last_call(const PythonProgram& program, std::string_view name) {
  const PythonCall* last = nullptr;
  for (const PythonCall& call : program.calls) {
    if (last_name(call.name) == name) last = &call;
  }
  return last;
}

std::vector<PythonArgument> arguments_of(const PythonProgram& program, const PythonCall& call) {
  const std::vector<PythonToken>& tokens = program.tokens;
  std::vector<PythonArgument> arguments;
  const auto add = [&](size_t begin, size_t end) {
    if (begin >= end || tokens[begin].is_sign('*')) return;
    const bool is_name = tokens[begin].kind == PythonToken::Kind::kName && begin + 2 < end;
    const bool has_keyword = is_name &&
                             (tokens[begin + 1].is_sign('=') || tokens[begin + 1].is_sign(':')) &&
                             !tokens[begin + 2].is_sign('=');
    if (has_keyword) {
      arguments.push_back({tokens[begin].text, {begin + 2, end}});
    } else {
      arguments.push_back({"", {begin, end}});
    }
  };
  size_t begin = call.arguments.begin, depth = 0;
  for (size_t at = begin; at < call.arguments.end; ++at) {
    const PythonToken& token = tokens[at];
    if (opens(token)) ++depth;
    const bool is_end = closes(token);
    if (is_end && depth > 0) --depth;
    if (depth > 0 || !token.is_sign(',')) continue;
    add(begin, at);
    begin = at + 1;
  }
  add(begin, call.arguments.end);
  return arguments;
}

PythonSpan find_argument(const PythonProgram& program, std::string_view call,
                         std::string_view keyword, size_t place) {
  PythonSpan found;
  for (const PythonCall& row : program.calls) {
    if (last_name(row.name) != call || row.name.starts_with(kDefinition)) continue;
    found = {};
    size_t at = 0;
    for (const PythonArgument& argument : arguments_of(program, row)) {
      const bool is_there = argument.keyword.empty() ? at++ == place : argument.keyword == keyword;
      if (is_there) found = argument.value;
    }
  }
  return found;
}

bool has_unpacked(const PythonProgram& program, const PythonCall& call) {
  size_t depth = 0;
  for (size_t at = call.arguments.begin; at < call.arguments.end; ++at) {
    const PythonToken& token = program.tokens[at];
    const bool begins = at == call.arguments.begin || program.tokens[at - 1].is_sign(',');
    if (depth == 0 && begins && token.is_sign('*')) return true;
    if (opens(token)) ++depth;
    const bool is_end = closes(token);
    if (is_end && depth > 0) --depth;
  }
  return false;
}

std::string subscript_in(const PythonProgram& program, PythonSpan value) {
  const std::vector<PythonToken>& tokens = program.tokens;
  if (value.end == value.begin + 1 && tokens[value.begin].kind == PythonToken::Kind::kName) {
    value = find_assigned(program, tokens[value.begin].text);
  }
  std::string found;
  for (size_t i = value.begin; i + 2 < value.end; ++i) {
    const bool is_subscript = tokens[i].is_sign('[') && tokens[i + 2].is_sign(']') &&
                              tokens[i + 1].kind == PythonToken::Kind::kText;
    if (!is_subscript) continue;
    if (!found.empty()) return "";
    found = tokens[i + 1].text;
  }
  return found;
}

}  // namespace berth
