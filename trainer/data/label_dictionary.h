#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace berth {

// The labels that occur in a table, numbered in the order in which they are met. Such a number is
// an entry; a class is an entry's place among the sorted names. Blanks around a label are dropped.
// Not thread-safe while labels are added.
class LabelDictionary {
 public:
  // The entry of a label, which is added if it is new. Throws kBadData where the labels are
  // restricted and this is not one of them.
  int32_t entry(std::string_view label);
  // Remembers, for messages, that the entries added since the last call were met at `position`.
  void locate(const std::string& position);
  // Accepts only these labels from now on. A whole number may have another form ("1.0" for "1"). An
  // empty list accepts all. With `by_number`, any other whole number is the index of a label, from
  // 0. This does not hold if one of the labels is a number itself.
  void restrict_to(const std::vector<std::string>& known, bool by_number = false);
  // The categories of a categorical column, whose order names() keeps.
  void add_categories(const std::vector<std::string>& categories);

  // The classes that the file declares. Without known labels, all of them count, in this order,
  // even classes that entry() never meets.
  void add_classes(const std::vector<std::string>& classes);
  // The classes that entry() has not met.
  std::vector<std::string> unmet_classes() const;

  // "007" is not 7, because the file has a type for numbers, and this is a text.
  void keep_zeros() { keeps_zeros_ = true; }

  // The labels that are accepted; empty: all.
  const std::vector<std::string>& known() const { return known_; }

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  // Called once, after the last row. A text file holds numbers as text: where all labels are whole
  // numbers (1, 2 or 1.0, 2.0), they are rewritten as integers. They stay as they are where one is
  // too large for fp64 to tell it from its neighbours. Throws kBadData, naming the first, where all
  // are numbers and some have fractions.
  void settle();

  // For each entry the first entry with the same label. After settle(), "1" and "1.0" are the same.
  std::vector<int32_t> first_entries() const;

  // The labels that occur, each once. Integers are ordered by value, categories as they were given,
  // and other labels by their bytes.
  std::vector<std::string> names() const;

  // The label of an entry.
  const std::string& name_of(int32_t entry) const {
    return entries_.at(static_cast<size_t>(entry));
  }

  // The index of each entry in `names`. Throws kBadData, saying where it was met, for a label that
  // is not among them.
  std::vector<int32_t> classes(const std::vector<std::string>& names) const;

 private:
  std::string known_name(std::string_view label) const;
  std::string position_of(size_t entry) const;

  std::vector<std::string> entries_;
  std::vector<std::string> positions_;  // where each entry was first met
  std::vector<bool> is_met_;            // of each entry
  std::unordered_map<std::string, int32_t> index_;
  std::vector<std::string> categories_;
  std::vector<std::string> known_;  // empty: all labels are accepted
  bool by_number_ = false, keeps_zeros_ = false;
};

// The first names, as much as fits into a message.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace berth
