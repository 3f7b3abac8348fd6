#include "entrypoint/flags/flag_lookup.h"

#include <algorithm>

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

std::string nearest_name(std::string_view name) {
  std::string nearest;
  size_t least = SIZE_MAX;
  const auto consider = [&](const std::string& candidate) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < least) nearest = candidate, least = distance;
  };
  for (const Flag& flag : flag_table()) {
    if (flag.group == FlagGroup::kHidden) continue;
    consider(flag.name);
    std::ranges::for_each(flag.aliases, consider);
  }
  return nearest;
}

}  // namespace

FlagSpelling look_up_flag(std::string_view typed) {
  std::string name(typed);
  std::ranges::replace(name, '_', '-');
  if (const Flag* flag = row_of(name)) return {flag, false};
  for (const std::string_view prefix : {"no-", "no"}) {
    if (!name.starts_with(prefix)) continue;
    const Flag* flag = row_of(name.substr(prefix.size()));
    if (flag == nullptr) continue;
    if (flag->value.is_switch) return {flag, true};
    throw Error(Code::kUsage, "this flag takes a value and cannot be switched off",
                "--" + std::string(typed), cat("give --", flag->name, " a value"));
  }
  for (const ForeignFlag& foreign : foreign_flags()) {
    if (name == foreign.name) {
      throw Error(Code::kUsage, "berth does not have this flag", "--" + std::string(typed),
                  foreign.advice);
    }
  }
  name.resize(std::min<size_t>(name.size(), 100));
  throw Error(Code::kUsage, cat("unknown flag ", quoted("--" + std::string(typed))), "",
              cat("the nearest is --", nearest_name(name), ", and --help lists them all"));
}

}  // namespace berth
