#include "trainer/data/label_dictionary.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"

namespace berth {
namespace {

std::optional<int64_t> as_integer(std::string_view text) {
  text = number_text(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + quoted(name);
    if (text.size() > 200) return text + ", ...";
  }
  return text;
}

}  // namespace

int32_t LabelDictionary::entry(std::string_view label, int64_t row) {
  label = trimmed(label);
  const auto [found, is_new] =
      index_.emplace(std::string(label), static_cast<int32_t>(entries_.size()));
  if (is_new) {
    entries_.emplace_back(label);
    first_rows_.push_back(row);
  }
  return found->second;
}

void LabelDictionary::add_categories(const std::vector<std::string>& categories) {
  for (const std::string& category : categories) {
    const std::string_view name = trimmed(category);
    const bool known = std::find(categories_.begin(), categories_.end(), name) != categories_.end();
    if (!known) categories_.emplace_back(name);
  }
}

void LabelDictionary::settle() {
  std::vector<std::string> integral;
  bool fractional = false;
  for (const std::string& label : entries_) {
    if (const auto integer = as_integer(label)) {
      integral.push_back(std::to_string(*integer));
      continue;
    }
    const auto number = parse_real(label);
    if (!number || !(std::abs(*number) < 0x1p53)) return;
    fractional = fractional || *number != std::floor(*number);
    integral.push_back(std::to_string(static_cast<int64_t>(*number)));
  }
  if (fractional) {
    throw Error(Code::kBadData, "the labels are fractional numbers", "",
                "pass --task regression, or give classes as integers or names");
  }
  entries_ = std::move(integral);
}

std::vector<std::string> LabelDictionary::names() const {
  const std::set<std::string> distinct(entries_.begin(), entries_.end());
  std::vector<std::string> names;
  for (const std::string& category : categories_) {
    if (distinct.contains(category)) names.push_back(category);
  }
  if (names.size() == distinct.size()) return names;

  names.assign(distinct.begin(), distinct.end());
  const bool integers = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return as_integer(name).has_value();
  });
  if (integers) {
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *as_integer(a) < *as_integer(b);
    });
  }
  return names;
}

std::vector<int32_t> LabelDictionary::classes(const std::vector<std::string>& names) const {
  std::map<std::string_view, int32_t> ids;
  for (size_t i = 0; i < names.size(); ++i) ids.emplace(trimmed(names[i]), static_cast<int32_t>(i));
  std::vector<int32_t> classes;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto found = ids.find(entries_[i]);
    if (found == ids.end()) {
      throw Error(Code::kBadData,
                  cat("label ", quoted(entries_[i]), " is not one of ", list(names)),
                  cat("row ", first_rows_[i]));
    }
    classes.push_back(found->second);
  }
  return classes;
}

}  // namespace berth
