#include "entrypoint/explain/shell_variables.h"

#include <algorithm>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kMostBlocks = 100, kMostUses = 10'000, kMostNames = 1000;

[[noreturn]] void refuse(const char* problem) {
  throw Error(Code::kUsage, problem, "explain", "explain its command lines alone");
}

}  // namespace

ShellVariables::ShellVariables(const std::map<std::string, std::string>& variables,
                               const std::set<std::string>& chosen) {
  for (const auto& [name, value] : variables) variables_[name].value = value;
  for (const std::string& name : chosen) set_unknown(name);
}

const ShellVariable* ShellVariables::find(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

void ShellVariables::put(const std::string& name, State state) {
  const ShellVariable* known = find(name);
  const bool is_same = known == nullptr ? !state : state && *known == *state;
  for (size_t i = blocks_.size(); i-- > 0;) {
    if (blocks_[i].kind == Kind::kGroup) continue;
    if (!blocks_[i].before.contains(name)) {
      blocks_[i].before.emplace(name, known == nullptr ? State() : State(*known));
    }
    break;
  }
  if (is_same) return;
  if (const auto uses = function_uses_.find(name); uses != function_uses_.end()) {
    for (const size_t at : uses->second) changes_.emplace_back(name, at);
    function_uses_.erase(uses);
  }
  if (state) {
    variables_[name] = std::move(*state);
  } else {
    variables_.erase(name);
  }
}

void ShellVariables::set(const std::string& name, ShellVariable variable) {
  put(name, std::move(variable));
}

void ShellVariables::unset(const std::string& name) {
  put(name, std::nullopt);
  put(name + "[@]", std::nullopt);
}

void ShellVariables::set_unknown(const std::string& name) {
  const bool is_array = name.ends_with("[@]");
  ShellVariable unknown{.value = is_array ? "" : "$" + name, .chosen = {name}};
  if (is_array) unknown.items = {cat("${", name, "}")};
  put(name, std::move(unknown));
}

void ShellVariables::note_use(const std::string& name, size_t at) {
  for (size_t i = blocks_.size(); i-- > 0;) {
    Block& block = blocks_[i];
    if (block.before.contains(name)) return;  // which sets it first
    const bool is_repeated = block.kind == Kind::kLoop || block.kind == Kind::kFunction;
    if (is_repeated && block.uses.size() < kMostUses) block.uses.emplace_back(name, at);
  }
}

void ShellVariables::begin(Kind kind) {
  if (blocks_.size() == kMostBlocks) {
    refuse("the text nests more than 100 blocks");
  }
  blocks_.push_back({.kind = kind});
}

// The variables have the values again that they had before the branch.
void ShellVariables::end_branch() {
  Block& block = blocks_.back();
  for (auto& [name, state] : block.before) {
    const ShellVariable* now = find(name);
    const bool is_same = now == nullptr ? !state : state && *state == *now;
    if (!is_same) block.changed.insert(name);
    if (state) {
      variables_[name] = std::move(*state);
    } else {
      variables_.erase(name);
    }
  }
  block.before.clear();
}

void ShellVariables::end_block() {
  if (is_on_top(Kind::kGroup)) return blocks_.pop_back();
  end_branch();
  const Block block = std::move(blocks_.back());
  blocks_.pop_back();
  if (block.kind == Kind::kSubshell) return;
  for (const auto& use : block.uses) {
    if (block.changed.contains(use.first)) changes_.push_back(use);
    if (block.kind == Kind::kFunction) function_uses_[use.first].push_back(use.second);
  }
  if (block.kind == Kind::kFunction) {
    if (block.changed.size() > kMostNames) refuse("a function sets more than 1000 variables");
    set_by_functions_[block.name] = block.changed;
  }
  for (const std::string& name : block.changed) set_unknown(name);
}

void ShellVariables::call(const std::string& word) {
  const auto found = set_by_functions_.find(word);
  if (found == set_by_functions_.end()) return;
  for (const std::string& name : found->second) set_unknown(name);
}

// Ends the innermost block of this kind, and those inside it that the text does not end.
void ShellVariables::end(Kind kind) {
  const bool is_open =
      std::ranges::any_of(blocks_, [&](const Block& block) { return block.kind == kind; });
  while (is_open) {
    const bool is_last = is_on_top(kind);
    end_block();
    if (is_last) return;
  }
}

// A function, or commands between braces.
void ShellVariables::end_group() {
  const bool is_group =
      std::ranges::any_of(blocks_, [](const Block& block) { return block.kind == Kind::kGroup; });
  end(is_on_top(Kind::kFunction) || !is_group ? Kind::kFunction : Kind::kGroup);
}

bool ShellVariables::read_word(const std::string& word, bool begins) {
  if (std::exchange(names_loop_, false)) {
    // The loop stays around the line, and fills in its variable: "for NAME", or "for ((NAME=0".
    std::string name = word.substr(0, word.find('='));
    name.erase(0, name.find_first_not_of('('));
    unset(name);
    return false;
  }
  if (std::exchange(names_function_, false)) {
    function_ = word;
    return true;
  }
  if (!begins) return false;
  if (word == "if") {
    begin(Kind::kIf);
  } else if (word == "then" || word == "else" || word == "elif") {
    if (is_on_top(Kind::kIf)) end_branch();
  } else if (word == "fi" || word == "endif") {
    end(Kind::kIf);
  } else if (word == "esac") {
    end(Kind::kCase);
  } else if (word == "done") {
    end(Kind::kLoop);
  } else if (word == "{") {
    begin(function_.empty() ? Kind::kGroup : Kind::kFunction);
    blocks_.back().name = std::exchange(function_, "");
  } else if (word == "}") {
    end_group();
  } else if (word == "while" || word == "until" || word == "for" || word == "select") {
    begin(Kind::kLoop);
    names_loop_ = word == "for" || word == "select";
    return !names_loop_;
  } else if (word == "case") {
    begin(Kind::kCase);
    return false;
  } else if (word == "function") {
    names_function_ = true;
  } else {
    return word == "do" || word == "!" || word == "time";
  }
  return true;
}

void ShellVariables::end_command(std::string_view sign, bool is_empty, bool may_fail) {
  if (is_empty && list_goes_on_ && sign == "\n") return;
  const bool is_chain = sign == "&&" || sign == "||";
  if (is_chain) {
    if (is_on_top(Kind::kChain) && sign == "||") end_branch();
    const bool begins = !is_on_top(Kind::kChain) && (may_fail || sign == "||");
    if (begins) begin(Kind::kChain);
    list_goes_on_ = true;
    return;
  }
  list_goes_on_ = names_loop_ = names_function_ = false;
  while (is_on_top(Kind::kChain)) end_block();
  if (sign == ";;" || sign == ")") {
    if (is_on_top(Kind::kCase)) end_branch();
  }
  if (sign == ")" && is_on_top(Kind::kSubshell)) end_block();
}

}  // namespace berth
