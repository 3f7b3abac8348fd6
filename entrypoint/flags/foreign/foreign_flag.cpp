#include "entrypoint/flags/foreign/foreign_flag.h"

#include <algorithm>
#include <map>
#include <string>

namespace berth {

const ForeignFlag* find_foreign_flag(std::string_view name) {
  static const std::map<std::string_view, const ForeignFlag*> rows = [] {
    std::map<std::string_view, const ForeignFlag*> all;
    for_each_foreign_flag([&](const ForeignFlag& flag) { all.emplace(flag.name, &flag); });
    return all;
  }();
  std::string wanted(name);
  std::ranges::replace(wanted, '-', '_');
  const auto found = rows.find(wanted);
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace berth
