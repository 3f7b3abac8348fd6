#include "entrypoint/explain/program_names.h"

#include <algorithm>

#include "storage/base/text.h"

namespace berth {

size_t find_header(const std::vector<PythonToken>& tokens, size_t at, std::string_view words) {
  size_t column = std::string::npos;
  while (column > 0) {
    size_t begin = at;
    while (begin > 0 && tokens[begin - 1].kind != PythonToken::Kind::kLineEnd) --begin;
    const PythonToken& first = tokens[begin];
    if (first.kind != PythonToken::Kind::kLineEnd && first.column < column) {
      column = first.column;
      const bool is_main = first.is_name("if") && tokens[begin + 1].is_name("__name__");
      const bool is_header = first.kind == PythonToken::Kind::kName && begin < at;
      if (is_header && !is_main && is_one_of(words, first.text)) return begin;
      if (is_header && first.is_name("def")) break;
    }
    if (begin == 0) break;
    at = begin - 1;
  }
  return std::string::npos;
}

std::optional<size_t> PythonScope::place_of(std::string_view parameter) const {
  const auto found = places.find(parameter);
  if (found == places.end()) return std::nullopt;
  return found->second;
}

Assignments::Assignments(const std::vector<PythonToken>& tokens) : tokens_(tokens) {
  find_scopes();
  size_t begin = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const bool is_inner = i + 2 < tokens_.size() && tokens_[i].kind == PythonToken::Kind::kName &&
                          tokens_[i + 1].is_sign(':') && tokens_[i + 2].is_sign('=');
    if (is_inner) note_targets({i, i + 1}, {{i + 3, i + 3}});  // (name := value)
    if (tokens_[i].kind != PythonToken::Kind::kLineEnd) continue;
    note_line(begin, i);
    begin = i + 1;
  }
  for (auto& [key, values] : values_) {
    for (AssignedValue& value : values) {
      const bool is_imported = imports_.contains(key.first) || value.span.begin < all_imported_;
      value.is_plain = value.is_plain && !is_imported;
      if (value.is_plain) continue;
      size_t& first = first_others_.try_emplace(key, value.span.begin).first->second;
      first = std::min(first, value.span.begin);
    }
  }
}

// A function ends before the first line that does not stand to the right of its "def".
void Assignments::find_scopes() {
  scopes_.push_back({"", {0, tokens_.size()}});
  size_t scope = 0;
  bool is_decorated = false;
  for (size_t i = 0; i + 2 < tokens_.size(); ++i) {
    const bool begins = i == 0 || tokens_[i - 1].kind == PythonToken::Kind::kLineEnd;
    if (!begins || tokens_[i].kind == PythonToken::Kind::kLineEnd) continue;
    while (scope != 0 && tokens_[i].column <= tokens_[scopes_[scope].span.begin].column) {
      scopes_[scope].span.end = i;
      scope = scopes_[scope].around;
    }
    const size_t def = tokens_[i].is_name("async") ? i + 1 : i;
    const bool has_decorator = std::exchange(is_decorated, tokens_[i].is_sign('@'));
    if (!tokens_[def].is_name("def") || !tokens_[def + 2].is_sign('(')) continue;
    PythonScope function{tokens_[def + 1].text, {i, tokens_.size()}, scope};
    function.is_plain = !has_decorator;
    size_t end = def + 3;
    for (size_t depth = 1; end < tokens_.size() && depth > 0; ++end) {
      if (opens(tokens_[end])) ++depth;
      if (closes(tokens_[end])) --depth;
    }
    for (PythonSpan part : parted_by_commas({std::min(def + 3, end - 1), end - 1})) {
      if (part.begin == part.end) continue;
      if (tokens_[part.begin].kind == PythonToken::Kind::kSign) function.is_plain = false;
      while (part.begin < part.end && tokens_[part.begin].is_sign('*')) ++part.begin;
      if (part.begin == part.end) continue;
      function.places.emplace(tokens_[part.begin].text, function.parameters.size());
      function.parameters.push_back(tokens_[part.begin].text);
    }
    scopes_.push_back(std::move(function));
    scope = scopes_.size() - 1;
  }
}

std::vector<size_t> Assignments::scopes_of(size_t at) const {
  const auto next =
      std::ranges::upper_bound(scopes_, at, {}, [](const PythonScope& s) { return s.span.begin; });
  std::vector<size_t> around;
  for (auto i = static_cast<size_t>(next - scopes_.begin()) - 1;; i = scopes_[i].around) {
    if (at < scopes_[i].span.end || i == 0) around.push_back(i);
    if (i == 0) return around;
  }
}

const std::vector<AssignedValue>* Assignments::find(const std::string& name, size_t scope) const {
  const auto values = values_.find({name, name.starts_with("self.") ? 0 : scope});
  return values == values_.end() ? nullptr : &values->second;
}

size_t Assignments::first_other(const std::string& name, size_t scope) const {
  const auto first = first_others_.find({name, name.starts_with("self.") ? 0 : scope});
  return first == first_others_.end() ? std::string::npos : first->second;
}

bool Assignments::is_plain(const std::string& name) const {
  for (auto at = values_.lower_bound({name, 0}); at != values_.end() && at->first.first == name;
       ++at) {
    if (!std::ranges::all_of(at->second, &AssignedValue::is_plain)) return false;
  }
  return true;
}

// A line may have several statements: "for p in parameters: p.requires_grad = False".
void Assignments::note_line(size_t begin, size_t end) {
  constexpr std::string_view kHeaders =
      "if elif else for while with try except finally def class async";
  if (begin < end && (tokens_[begin].is_name("from") || tokens_[begin].is_name("import"))) {
    return note_import(begin, end);
  }
  size_t depth = 0, part = begin;
  for (size_t i = begin; i < end; ++i) {
    if (opens(tokens_[i])) ++depth;
    if (closes(tokens_[i]) && depth > 0) --depth;
    const bool is_header =
        tokens_[part].kind == PythonToken::Kind::kName && is_one_of(kHeaders, tokens_[part].text);
    const bool ends = tokens_[i].is_sign(';') || (tokens_[i].is_sign(':') && is_header);
    if (depth > 0 || !ends) continue;
    note_statement(part, i, false);
    part = i + 1;
  }
  note_statement(part, end, part == begin);
}

// "from a.b import (c as d, e)", "import a as b"
void Assignments::note_import(size_t begin, size_t end) {
  constexpr std::string_view kLibraries =  // of which no name is one of a program's values
      "transformers datasets evaluate torch numpy pandas sklearn peft sentence_transformers typing";
  size_t at = begin + 1;
  std::string module;  // empty: of a file beside the program
  if (at < end && tokens_[at].kind == PythonToken::Kind::kName) module = tokens_[at].text;
  if (tokens_[begin].is_name("from")) {
    while (at < end && !tokens_[at].is_name("import")) ++at;
    ++at;
  }
  for (; at < end; ++at) {
    if (tokens_[at].is_sign('*') && !is_one_of(kLibraries, module)) all_imported_ = at;
    if (tokens_[at].kind != PythonToken::Kind::kName || tokens_[at].is_name("as")) continue;
    const bool is_renamed = at + 2 < end && tokens_[at + 1].is_name("as");
    if (is_renamed) at += 2;
    imports_[tokens_[at].text] = module;
  }
}

size_t Assignments::find_word(size_t begin, size_t end, std::string_view word) const {
  size_t depth = 0;
  for (size_t i = begin; i < end; ++i) {
    if (opens(tokens_[i])) ++depth;
    if (closes(tokens_[i]) && depth > 0) --depth;
    if (depth == 0 && tokens_[i].is_name(word)) return i;
  }
  return end;
}

void Assignments::note_statement(size_t begin, size_t end, bool is_line) {
  if (begin >= end) return;
  if (tokens_[begin].is_name("global") || tokens_[begin].is_name("nonlocal")) {
    for (const PythonSpan name : parted_by_commas({begin + 1, end})) {
      for (const size_t scope : scopes_of(begin)) {
        if (name.begin == name.end || (scope != 0 && tokens_[begin].is_name("global"))) continue;
        values_[{tokens_[name.begin].text, scope}].push_back({name, true});
      }
    }
    return;
  }
  if (tokens_[begin].is_name("for")) {
    const size_t in = find_word(begin, end, "in");
    if (in < end) note_targets({begin + 1, in}, {{in + 1, end}});
    return;
  }
  if (tokens_[begin].is_name("with")) {
    const size_t as = find_word(begin, end, "as");
    if (as < end) note_targets({as + 1, end}, {{begin + 1, as}});
    return;
  }
  std::vector<size_t> signs;
  size_t depth = 0;
  for (size_t i = begin + 1; i + 1 < end; ++i) {
    if (opens(tokens_[i])) ++depth;
    if (closes(tokens_[i]) && depth > 0) --depth;
    const bool is_equal = tokens_[i].is_sign('=') && tokens_[i + 1].is_sign('=');
    if (is_equal) ++i;
    const bool is_shifted = i > begin + 2 && (is_sign_of(i - 1, "<") || is_sign_of(i - 1, ">")) &&
                            tokens_[i - 2].is_sign(tokens_[i - 1].text[0]);
    const bool compares = is_sign_of(i - 1, "=!<>:") && !is_shifted;
    if (depth > 0 || is_equal || !tokens_[i].is_sign('=') || compares) continue;
    signs.push_back(i);
  }
  if (signs.empty()) return;
  size_t target_end = signs[0];  // before "+=" or "**="
  while (target_end > begin + 1 && is_sign_of(target_end - 1, "+-*/%&|^@<>")) --target_end;
  const bool is_changed = target_end < signs[0];
  const bool is_plain = is_line && signs.size() == 1 && !is_changed && target_end == begin + 1;
  const std::vector<PythonSpan> values = parted_by_commas({signs.back() + 1, end});
  for (size_t i = 0; i < signs.size(); ++i) {
    const size_t first = i == 0 ? begin : signs[i - 1] + 1;
    note_targets({first, i == 0 ? target_end : signs[i]},
                 {{signs.back() + 1, end}, is_changed, is_plain}, values);
  }
}

bool Assignments::is_sign_of(size_t at, std::string_view signs) const {
  return tokens_[at].kind == PythonToken::Kind::kSign &&
         signs.find(tokens_[at].text[0]) != signs.npos;
}

std::vector<PythonSpan> Assignments::parted_by_commas(PythonSpan span) const {
  std::vector<PythonSpan> parts = {{span.begin, span.begin}};
  size_t depth = 0;
  for (size_t i = span.begin; i < span.end; ++i) {
    if (opens(tokens_[i])) ++depth;
    if (closes(tokens_[i]) && depth > 0) --depth;
    if (depth == 0 && tokens_[i].is_sign(',')) {
      parts.push_back({i + 1, i + 1});
    } else {
      parts.back().end = i + 1;
    }
  }
  return parts;
}

void Assignments::note_targets(PythonSpan targets, const AssignedValue& value,
                               const std::vector<PythonSpan>& values) {
  if (targets.begin < targets.end && tokens_[targets.begin].is_sign('(')) {
    ++targets.begin;
    if (targets.end > targets.begin) --targets.end;
  }
  const std::vector<PythonSpan> names = parted_by_commas(targets);
  for (size_t i = 0; i < names.size(); ++i) {
    const bool has_own = names.size() > 1 && names.size() == values.size();
    note_target(names[i], has_own ? AssignedValue{values[i], value.is_changed, false} : value);
  }
}

void Assignments::note_target(PythonSpan target, const AssignedValue& value) {
  while (target.begin < target.end && tokens_[target.begin].is_sign('*')) ++target.begin;
  if (target.begin >= target.end || tokens_[target.begin].kind != PythonToken::Kind::kName) return;
  std::string name = tokens_[target.begin].text;
  size_t at = target.begin + 1;
  if (name == "self" && at + 1 < target.end && tokens_[at].is_sign('.')) {
    name += "." + tokens_[at + 1].text;
    at += 2;
  }
  const bool is_whole = at >= target.end || tokens_[at].is_sign(':');
  const bool has_attribute =
      std::any_of(tokens_.begin() + static_cast<ptrdiff_t>(at),
                  tokens_.begin() + static_cast<ptrdiff_t>(std::max(at, target.end)),
                  [](const PythonToken& token) { return token.is_sign('.'); });
  if (has_attribute) {
    parts_.emplace_back(name, target);
  } else if (is_whole || tokens_[at].is_sign('[')) {
    const size_t scope = name.starts_with("self.") ? 0 : scopes_of(target.begin)[0];
    values_[{name, scope}].push_back(value);
  }
}

}  // namespace berth
