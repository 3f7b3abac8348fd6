#include "entrypoint/flag_lookup.h"

#include <algorithm>
#include <numeric>

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

// Levenshtein 1966: insertions, deletions and substitutions between two names.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
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
    throw Error(Code::kUsage, "not a switch that could be turned off", "--" + std::string(typed),
                cat("give --", flag->name, " a value"));
  }
  for (const ForeignFlag& foreign : foreign_flags()) {
    if (name == foreign.name) {
      throw Error(Code::kUsage, "not a flag of this program", "--" + std::string(typed),
                  foreign.advice);
    }
  }
  name.resize(std::min<size_t>(name.size(), 100));
  throw Error(Code::kUsage, cat("unknown flag ", quoted("--" + std::string(typed))), "",
              cat("the nearest is --", nearest_name(name), ", and --help lists them all"));
}

}  // namespace berth
