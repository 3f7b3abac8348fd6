#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// Watches scores for the numbers by which programs mark a missing one, such as -999. Not
// thread-safe.
class MissingScores {
 public:
  void add(double score);
  // A warning where such a number stands far from all other scores, or one score is a hundred times
  // as large as all others.
  std::vector<Finding> findings() const;

 private:
  size_t scores_ = 0;
  std::map<double, size_t> found_;   // the numbers that may be marks
  double least_ = 0, most_ = 0;      // of the others
  double largest_ = 0, second_ = 0;  // of all, without their signs
};

// Watches the texts of rows together with their classes, for what neither shows alone. Not
// thread-safe.
class ClassesOfTexts {
 public:
  // `are_texts`: of a file without types (RowReader::is_of_texts).
  explicit ClassesOfTexts(bool are_texts) : are_texts_(are_texts) {}

  // `label`: the class as it stands in the file.
  void add(std::span<const std::string> texts, std::string_view label);

  // Warnings
  //   - where many rows have the text of an earlier row and another class,
  //   - where almost every text names its own class,
  //   - where the first row is rather a second line of names, or the last one a note,
  //   - where half of the rows are copies of earlier ones,
  //   - where a label with few rows differs in one letter from a label with many.
  std::vector<Finding> findings() const;

 private:
  struct First {
    std::string text{}, label{};
    bool is_alone = true;  // no later row has its label
  };

  void look_for_copies(std::span<const std::string> texts, std::string_view label);
  void look_for_misspelt(std::vector<Finding>& found) const;

  const bool are_texts_;
  size_t rows_ = 0;
  std::unordered_map<uint64_t, uint64_t> labels_;  // of each text, both by their hashes
  size_t contradicting_ = 0, copies_ = 0, naming_ = 0, phrases_ = 0;
  std::string contradiction_, named_;              // examples
  size_t contradicting_row_ = 0, naming_row_ = 0;  // their rows, from 1
  bool has_two_labels_ = false;
  std::map<std::string, size_t, std::less<>> counts_;  // of the rows of each label; few labels
  std::string last_text_, last_label_;
  First first_;
};

}  // namespace berth
