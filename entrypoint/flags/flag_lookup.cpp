#include "entrypoint/flags/flag_lookup.h"

#include <algorithm>

#include "entrypoint/flags/foreign/foreign_flag.h"
#include "storage/base/edit_distance.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
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
  for_each_foreign_flag([&](const ForeignFlag& flag) { consider(std::string(flag.name)); });
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

}  // namespace berth
