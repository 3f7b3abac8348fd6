#include "entrypoint/flags/flag_table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "entrypoint/flags/foreign/foreign_flag.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

std::string_view heading(FlagGroup group) {
  constexpr std::string_view kHeadings[] = {"Data",
                                            "Model",
                                            "Training",
                                            "Optimization",
                                            "Evaluation and saving",
                                            "Output",
                                            "Storage",
                                            "Tokenizing, inspecting, converting",
                                            "Machine",
                                            "Hidden"};
  return kHeadings[static_cast<size_t>(group)];
}

Flag::Flag(std::string_view names, std::string help_text, FlagValue value_of_flag,
           FlagRole role_of_flag, std::string default_words)
    : aliases(parted(names, ", ")),
      help(std::move(help_text)),
      value(std::move(value_of_flag)),
      role(role_of_flag),
      default_text(std::move(default_words)) {
  name = std::move(aliases.front());
  aliases.erase(aliases.begin());
}

std::span<const Flag> flag_table() {
  // job.json lists the settings in this order.
  static const std::vector<Flag> table = [] {
    using enum FlagGroup;
    using Rows = std::vector<Flag> (*)();
    constexpr std::pair<FlagGroup, Rows> kRows[] = {
        {kData, data_flags},         {kModel, model_flags},    {kModel, embedding_flags},
        {kModel, reranking_flags},   {kModel, mining_flags},   {kTraining, training_flags},
        {kSaving, evaluation_flags}, {kSaving, probe_flags},   {kOutput, output_flags},
        {kStorage, storage_flags},   {kMachine, device_flags}, {kMachine, cluster_flags},
        {kMachine, machine_flags},   {kHidden, hidden_flags},  {kOptimization, optimization_flags},
        {kTools, tool_flags},        {kTools, corpus_flags}};
    std::vector<Flag> flags;
    for (const auto& [group, rows] : kRows) {
      for (Flag& flag : rows()) {
        flag.group = group;
        flags.push_back(std::move(flag));
      }
    }
    return flags;
  }();
  return table;
}

const Flag* find_flag(std::string_view name) {
  const auto row = std::ranges::find(flag_table(), name, &Flag::name);
  return row == flag_table().end() ? nullptr : &*row;
}

namespace {

const Flag* row_of(std::string_view name) {
  for (const Flag& flag : flag_table()) {
    if (flag.name == name || std::ranges::find(flag.aliases, name) != flag.aliases.end()) {
      return &flag;
    }
  }
  return nullptr;
}

// The known name that differs least from `name`, as it would be typed. Empty if at least a third of
// the letters differ: a guess would not help.
std::string nearest_name(std::string_view name) {
  std::string nearest;
  size_t least = name.size() / 3 + 1;
  const auto consider = [&](std::string candidate) {
    std::ranges::replace(candidate, '_', '-');
    const size_t distance = edit_distance(name, candidate);
    if (distance < least) nearest = candidate, least = distance;
  };
  for (const Flag& flag : flag_table()) {
    if (flag.group == FlagGroup::kHidden) continue;
    consider(flag.name);
    std::ranges::for_each(flag.aliases, consider);
  }
  for (const ForeignFlag& flag : foreign_flags()) consider(std::string(flag.name));
  return nearest;
}

// Finds the row, and whether the name is negated. `otherwise` is called with a row that takes a
// value, where its name is negated.
template <typename Otherwise>
std::optional<FlagSpelling> find_spelling(std::string_view typed, Otherwise otherwise) {
  std::string name(typed);
  std::ranges::replace(name, '_', '-');
  if (const Flag* flag = row_of(name)) return FlagSpelling{flag, false};
  for (const std::string_view prefix : {"no-", "no"}) {
    if (!name.starts_with(prefix)) continue;
    const Flag* flag = row_of(name.substr(prefix.size()));
    if (flag == nullptr) continue;
    if (flag->value.is_switch) return FlagSpelling{flag, true};
    otherwise(*flag);
  }
  return std::nullopt;
}

}  // namespace

std::optional<FlagSpelling> find_flag_spelling(std::string_view typed) {
  return find_spelling(typed, [](const Flag&) {});
}

FlagSpelling look_up_flag(std::string_view typed) {
  const auto refuse_negation = [&](const Flag& flag) {
    throw Error(Code::kUsage, "this flag takes a value and cannot be switched off",
                "--" + std::string(typed), cat("give --", flag.name, " a value"));
  };
  if (const auto found = find_spelling(typed, refuse_negation)) return *found;
  std::string name(typed.substr(0, 100));
  std::ranges::replace(name, '_', '-');
  const std::string nearest = nearest_name(name);
  throw Error(Code::kUsage, cat("unknown flag ", quoted("--" + std::string(typed.substr(0, 100)))),
              "",
              nearest.empty() ? "--help lists all flags"
                              : cat("the nearest is --", nearest, ", and --help lists them all"));
}

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

// A $(command) stands there as it is, unless the dollar is escaped.
std::string between_double_quotes(const std::string& word, std::string_view escaped) {
  const bool runs = escaped.find('$') == std::string_view::npos;
  std::string text = "\"";
  int depth = 0;  // of brackets in a command
  for (const char c : word) {
    const bool is_inside = depth > 0;
    if (runs && c == '(' && (is_inside || text.back() == '$')) ++depth;
    if (c == ')' && is_inside) --depth;
    if (!is_inside && escaped.find(c) != std::string_view::npos) text += '\\';
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
  const size_t end = flag.role.has(kMayRepeat) ? value.find('\n') : std::string::npos;
  const std::string first = value.substr(0, end);
  const bool is_joined = flag.value.is_switch || looks_like_flag(first);
  std::string typed = name + (is_joined ? "=" : " ") + shell_quoted(first, expands);
  if (end != std::string::npos) typed += " " + typed_flag(flag, value.substr(end + 1), expands);
  return typed;
}

}  // namespace berth
