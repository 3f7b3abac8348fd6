#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/data/example.h"
#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

// Throws kBadData where rows to predict have negatives and the choice does not name the second
// text: a prediction of two texts would leave the negatives out.
void require_one_passage(std::span<const Column> columns, const ColumnChoice& choice, Task task);

// A warning where texts are compared without labels, as no column has a usual name for these: names
// the first column of numbers outside of `used`, or else the first one that is no id.
std::vector<Finding> look_for_scores(const PeekedTable& table, std::span<const size_t> used);

// Looks at a column of labels beside texts that `task` compares without labels. Throws kBadData
// where it says that texts of a row do not belong together: its values differ and are not all above
// 0, or it has a list of as many labels as there are second texts. Warns where it may say so.
std::vector<Finding> look_at_labels_of_groups(const PeekedTable& table, const FoundColumns& found,
                                              Task task);

// The members of the list in a cell of texts that are compared, as FlagEmbedding's files have them
// in "pos" and "neg". Where the format has no types, only a column of such a name holds lists.
// nullopt: the cell is a text. Throws kBadData where the list holds something else than texts.
std::optional<std::vector<std::string>> listed_texts(const Column& column, std::string_view cell,
                                                     bool are_texts);

// Looks for texts that several of the first rows have, which a batch compares with each other.
class SharedTexts {
 public:
  void add(const Example& example);
  std::vector<Finding> findings() const;  // warnings

 private:
  size_t rows_ = 0, repeated_firsts_ = 0, repeated_seconds_ = 0;
  std::unordered_set<size_t> firsts_, seconds_;  // their hashes
};

// A teacher's scores of the texts of a row, as many as there are texts; or none.
struct TextScores {
  std::vector<float> positives{}, negatives{};
};

// The groups that the rows of a file make. Every group has the same number of texts: the first one
// decides. Not thread-safe.
class GroupTexts {
 public:
  // `max_negatives`: how many negatives of a row are used at most; 0: all. Only where `may_repeat`
  // may a row have several positives.
  GroupTexts(int64_t max_negatives, bool may_repeat)
      : max_negatives_(static_cast<size_t>(max_negatives)), may_repeat_(may_repeat) {}

  // Completes an example whose texts are the first one alone. The first positive comes second; each
  // other one makes another example, which repeat() returns. Throws kBadData where there is no
  // positive, or another number of negatives than in the first row.
  void complete(Example& example, std::vector<std::string> positives,
                std::vector<std::string> negatives, TextScores scores = {});

  // Sets `example` to the next example of the row that was completed last; false: it has no more.
  bool repeat(Example& example);
  // How often it did.
  size_t repeats() const { return repeats_; }

 private:
  const size_t max_negatives_;
  const bool may_repeat_;
  std::optional<size_t> negatives_;  // of each row; empty before the first one
  size_t repeats_ = 0;
  Example last_;                    // of the row
  std::deque<std::string> others_;  // its positives that were not returned yet
  std::deque<float> other_scores_;  // of them, where there are scores
};

}  // namespace berth
