#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/data/example.h"

namespace berth {

// The members of the list in a cell of texts that are compared, as FlagEmbedding's files have them
// in "pos" and "neg". Where the format has no types, only a column of such a name holds lists.
// nullopt: the cell is a text. Throws kBadData where the list holds something else than texts.
std::optional<std::vector<std::string>> listed_texts(const Column& column, std::string_view cell,
                                                     bool are_texts);

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
