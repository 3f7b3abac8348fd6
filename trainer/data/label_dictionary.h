#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace berth {

// The labels that occur in a table, numbered as they come. Blanks around one are no part of it.
class LabelDictionary {
 public:
  // The entry of a label; a new one is added. Throws kBadData where only others are known.
  int32_t entry(std::string_view label);
  // Where the entries that were added since it was last called were met, for messages.
  void locate(const std::string& position);
  // No labels but these, or numbers written otherwise, are entries from now on.
  void restrict_to(const std::vector<std::string>& known);
  // Of a categorical column: the order of names().
  void add_categories(const std::vector<std::string>& categories);

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  // Labels of a text file are text: where all are whole numbers (1, 2 or 1.0, 2.0) they are made
  // integers, unless one is too large to be told from its neighbours. Once, after the last row.
  // Throws kBadData, naming the first, where they are fractional numbers.
  void settle();

  // Each entry's first entry of the same label: once settled, "1" and "1.0" are one.
  std::vector<int32_t> first_entries() const;

  // The labels that occur, each once: integers by value, categories in their order, else sorted.
  std::vector<std::string> names() const;

  // Each entry's index into `names`. Throws kBadData, saying where it was met, on one that is
  // not there.
  std::vector<int32_t> classes(const std::vector<std::string>& names) const;

 private:
  std::string known_name(std::string_view label) const;
  std::string position_of(size_t entry) const;

  std::vector<std::string> entries_;
  std::vector<std::string> positions_;  // where each entry was met first
  std::unordered_map<std::string, int32_t> index_;
  std::vector<std::string> categories_;
  std::vector<std::string> known_;  // empty: any
};

}  // namespace berth
