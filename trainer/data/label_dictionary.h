#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace berth {

// The labels of a table. An entry is the number of a label in the order in which labels are met. A
// class is the place of a label in a list of names, such as the one of names(). So entries depend
// on the order of the rows, and classes do not. Blanks around a label are dropped. Not thread-safe
// while labels are added.
class LabelDictionary {
 public:
  // The entry of a label, which is added if it is new. Throws kBadData where the labels are
  // restricted and this is not one of them.
  int32_t entry(std::string_view label);
  // Remembers, for messages, that the entries added since the last call were met at `position`.
  void locate(const std::string& position);
  // Adds labels to the ones that are accepted; where there are none, all are. A row may write a
  // known integer in another form ("1.0" for "1"), or a label in another case where only one known
  // label is meant. `others` are other names of the known labels, in their order, or none; they do
  // not count where both are numbers. With `by_number`, any other whole number is the index of a
  // label, from 0. This does not hold if one of the labels is a whole number itself. If the labels
  // are 0, 1 and so on, LABEL_1 means 1 then. `hint`: what to do, for the error.
  void restrict_to(const std::vector<std::string>& known, bool by_number = false,
                   const std::vector<std::string>& others = {}, const std::string& hint = "");
  // Accepts all labels again. Called before the first label.
  void accept_all();
  // Adds the categories of a categorical column. names() has their order if they are all labels.
  void add_categories(const std::vector<std::string>& categories);

  // Adds the classes that the file or the user declares, even classes that no row has. If the
  // labels are restricted, adds none. If they are restricted to the numbers of these classes, from
  // 0, and have no other names, the classes become these names.
  void add_classes(const std::vector<std::string>& classes);
  // The declared classes that entry() has not met in any form.
  std::vector<std::string> unmet_classes() const;

  // Call this for a file that has a type for numbers: there "007" is a text, and not 7.
  void keep_zeros() { keeps_zeros_ = true; }

  // Whether a label was given by its index (restrict_to).
  bool has_numbers() const { return has_numbers_; }
  // Whether a label was written in another case than the known one.
  bool ignores_case() const { return ignores_case_; }

  // The labels that are accepted; empty: all.
  const std::vector<std::string>& known() const { return known_; }

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  // Called once, after the last row. A text file holds numbers as text: where all labels are whole
  // numbers (1, 2 or 1.0, 2.0), they are rewritten as integers. They stay as they are if one of
  // them begins with a zero and keep_zeros() was called. They also stay if one of them, such as
  // 1e300, is too large for fp64 to tell it from its neighbours. Throws kBadData, naming the first,
  // where all are numbers and some have fractions.
  void settle();

  // Returns a number for each entry: the lowest entry whose label is the same. settle() can give
  // two entries one label, such as "1" and "1.0".
  std::vector<int32_t> first_entries() const;

  // The labels of rows and the declared classes, each once. They have the order of the categories
  // if all of them are categories. Otherwise integers are ordered by value, and other labels by
  // their bytes.
  std::vector<std::string> names() const;

  // Whether an entry from `first` on is an earlier one in another spelling, such as "1.0" for "1",
  // or in another case.
  bool respells(size_t first) const;

  // The label of an entry.
  const std::string& name_of(int32_t entry) const {
    return entries_.at(static_cast<size_t>(entry));
  }

  // The index of each entry in `names`. Throws kBadData, saying where it was met, for a label that
  // is not among them.
  std::vector<int32_t> classes(const std::vector<std::string>& names) const;

 private:
  std::string known_name(std::string_view label);
  void name_numbers(const std::vector<std::string>& classes);
  std::string position_of(size_t entry) const;

  std::vector<std::string> entries_;
  std::vector<std::string> positions_;  // where each entry was first met
  std::vector<bool> is_met_;            // of each entry
  std::unordered_map<std::string, int32_t> index_;
  std::vector<std::string> categories_;
  std::vector<std::string> known_;   // empty: all labels are accepted
  std::vector<std::string> others_;  // other names of these; empty: there are none
  std::string hint_;
  bool by_number_ = false, has_numbers_ = false, keeps_zeros_ = false, ignores_case_ = false;
  bool are_unnamed_ = false;  // the known labels are 0, 1 and so on
};

// The first names, as much as fits into a message.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace berth
