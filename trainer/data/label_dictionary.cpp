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

// Returns a whole number as the text of an integer. Returns nullopt if the label is no whole
// number, or is so large that fp64 cannot distinguish it from its neighbours.
std::optional<std::string> whole_number(std::string_view label) {
  if (const auto integer = as_integer(label)) return std::to_string(*integer);
  const auto number = parse_real(label);
  if (!number || !(std::abs(*number) < 0x1p53) || *number != std::floor(*number)) {
    return std::nullopt;
  }
  return std::to_string(static_cast<int64_t>(*number));
}

bool is_fraction(std::string_view label) {
  const auto number = parse_real(label);
  return number && std::abs(*number) < 0x1p53 && *number != std::floor(*number);
}

[[noreturn]] void refuse(std::string_view label, const std::vector<std::string>& known,
                         const std::string& position = "", const std::string& hint = "") {
  throw Error(Code::kBadData, cat("label ", quoted(label), " is not one of ", quoted_list(known)),
              position, hint);
}

// The place of the only name that is `label` without regard to case. nullopt: none is, or several.
std::optional<size_t> place_in_any_case(const std::vector<std::string>& names,
                                        std::string_view label) {
  const auto is_same = [wanted = lower_ascii(label)](const std::string& name) {
    return lower_ascii(name) == wanted;
  };
  if (std::ranges::count_if(names, is_same) != 1) return std::nullopt;
  return static_cast<size_t>(std::ranges::find_if(names, is_same) - names.begin());
}

}  // namespace

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + quoted(name);
    if (text.size() > 200) return text + ", ...";
  }
  return text;
}

int32_t LabelDictionary::entry(std::string_view label) {
  label = trimmed(label);
  const auto found = index_.find(std::string(label));
  if (found != index_.end()) {
    is_met_[static_cast<size_t>(found->second)] = true;
    return found->second;
  }
  entries_.push_back(known_name(label));
  is_met_.push_back(true);
  const auto entry = static_cast<int32_t>(entries_.size() - 1);
  index_.emplace(label, entry);
  return entry;
}

std::string LabelDictionary::known_name(std::string_view label) {
  const auto is_known = [this](std::string_view name) {
    return std::find(known_.begin(), known_.end(), name) != known_.end();
  };
  if (known_.empty() || is_known(label)) return std::string(label);
  // transformers calls outputs without names LABEL_0, LABEL_1.
  constexpr std::string_view kPlaceholder = "LABEL_";
  if (are_unnamed_ && label.starts_with(kPlaceholder) &&
      is_known(label.substr(kPlaceholder.size()))) {
    return std::string(label.substr(kPlaceholder.size()));
  }
  const std::optional<std::string> whole = whole_number(label);
  if (whole && is_known(*whole)) return *whole;
  const auto other = std::ranges::find(others_, whole.value_or(std::string(label)));
  if (other != others_.end()) return known_[static_cast<size_t>(other - others_.begin())];
  auto place = place_in_any_case(known_, label);
  if (!place) place = place_in_any_case(others_, label);
  ignores_case_ = ignores_case_ || place;
  if (place) return known_[*place];
  const std::optional<int64_t> number = whole && by_number_ ? as_integer(*whole) : std::nullopt;
  if (!number || *number < 0 || *number >= static_cast<int64_t>(known_.size())) {
    refuse(label, known_, "", hint_);
  }
  has_numbers_ = true;
  return known_[static_cast<size_t>(*number)];
}

void LabelDictionary::locate(const std::string& position) {
  positions_.resize(entries_.size(), position);
}

void LabelDictionary::accept_all() {
  known_.clear();
  others_.clear();
  by_number_ = false;
}

void LabelDictionary::restrict_to(const std::vector<std::string>& known, bool by_number,
                                  const std::vector<std::string>& others, const std::string& hint) {
  for (const std::string& label : known) known_.emplace_back(trimmed(label));
  for (const std::string& label : others) others_.emplace_back(trimmed(label));
  hint_ = hint;
  const auto is_number = [](const std::string& name) { return whole_number(name).has_value(); };
  if (std::ranges::any_of(known_, is_number) && std::ranges::any_of(others_, is_number)) {
    others_.clear();
  }
  by_number_ = by_number && std::ranges::none_of(known_, [](const std::string& name) {
                 return whole_number(name).has_value();
               });
  are_unnamed_ = by_number;
  for (size_t i = 0; i < known_.size(); ++i) are_unnamed_ &= known_[i] == std::to_string(i);
}

void LabelDictionary::add_categories(const std::vector<std::string>& categories) {
  for (const std::string& category : categories) {
    const std::string_view name = trimmed(category);
    const bool known = std::find(categories_.begin(), categories_.end(), name) != categories_.end();
    if (!known) categories_.emplace_back(name);
  }
}

void LabelDictionary::add_classes(const std::vector<std::string>& classes) {
  if (!known_.empty()) return name_numbers(classes);
  for (const std::string& name : classes) {
    if (!index_.contains(std::string(trimmed(name)))) {
      is_met_[static_cast<size_t>(entry(name))] = false;
    }
  }
}

void LabelDictionary::name_numbers(const std::vector<std::string>& classes) {
  bool are_numbers = others_.empty() && classes.size() == known_.size();
  for (size_t i = 0; i < known_.size(); ++i) {
    are_numbers = are_numbers && known_[i] == std::to_string(i) && !whole_number(classes[i]);
  }
  for (const std::string& name : classes) {
    if (are_numbers) others_.emplace_back(trimmed(name));
  }
}

std::vector<std::string> LabelDictionary::unmet_classes() const {
  std::set<std::string_view> met;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (is_met_[i]) met.insert(entries_[i]);
  }
  std::vector<std::string> unmet;
  for (const std::string& name : entries_) {
    if (!met.contains(name)) unmet.push_back(name);
  }
  return unmet;
}

void LabelDictionary::settle() {
  if (!known_.empty()) return;  // entries already have the spelling of the known labels
  std::vector<std::string> integral;
  std::optional<size_t> fraction;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto whole = whole_number(entries_[i]);
    if (!whole && !is_fraction(entries_[i])) return;
    if (!whole && !fraction) fraction = i;
    integral.push_back(whole.value_or(""));
  }
  if (fraction) {
    throw Error(Code::kBadData, cat("label ", quoted(entries_[*fraction]), " is a fraction"),
                position_of(*fraction),
                "pass --task regression, or give classes as integers or names");
  }
  const auto has_zeros = [](const std::string& label) {
    return label.size() > 1 && label[0] == '0' && as_integer(label);
  };
  if (keeps_zeros_ && std::ranges::any_of(entries_, has_zeros)) return;
  entries_ = std::move(integral);
  for (std::string& category : categories_) category = whole_number(category).value_or(category);
}

std::vector<int32_t> LabelDictionary::first_entries() const {
  std::unordered_map<std::string_view, int32_t> first;
  std::vector<int32_t> entries;
  for (const std::string& label : entries_) {
    entries.push_back(first.emplace(label, static_cast<int32_t>(entries.size())).first->second);
  }
  return entries;
}

std::string LabelDictionary::position_of(size_t entry) const {
  return entry < positions_.size() ? positions_[entry] : "";
}

bool LabelDictionary::respells(size_t first) const {
  std::set<std::string> earlier;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string plain = whole_number(entries_[i]).value_or(lower_ascii(entries_[i]));
    if (i < first) earlier.insert(plain);
    if (i >= first && earlier.contains(plain)) return true;
  }
  return false;
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
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return *as_integer(name); });
  }
  return names;
}

std::vector<int32_t> LabelDictionary::classes(const std::vector<std::string>& names) const {
  std::map<std::string_view, int32_t> ids;
  for (size_t i = 0; i < names.size(); ++i) ids.emplace(trimmed(names[i]), static_cast<int32_t>(i));
  std::vector<int32_t> classes;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto found = ids.find(entries_[i]);
    if (found == ids.end()) refuse(entries_[i], names, position_of(i));
    classes.push_back(found->second);
  }
  return classes;
}

}  // namespace berth
