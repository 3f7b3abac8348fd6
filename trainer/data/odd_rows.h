#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/model/task.h"

namespace berth {

// Warns of names that are probably one label, such as "Yes" and "yes ". Also warns of names that
// are probably not labels, such as "?" and "'a'". They are labels nevertheless.
std::vector<Finding> look_at_names(const std::vector<std::string>& names, LabelKind kind);

// What of the scores of a job counts for the scale of other ones.
struct ScoreRange {
  double largest = 0;
  double upper_third = 0;  // a third of the scores are this large, or larger
};

// How large the scores of some rows are, without their signs.
class ScoreScale {
 public:
  ScoreScale() = default;
  // Scores of this range, for is_below().
  explicit ScoreScale(const ScoreRange& range);
  void add(double score);
  void add(const ScoreScale& other);
  double largest() const { return largest_; }
  // nullopt: fewer than ten rows show no scale.
  std::optional<ScoreRange> range() const;

  // Whether these scores seem to be of another, smaller scale than `other`, as 0 to 1 beside 0 to
  // 5: the largest one is at most a third of the largest one there, and at least a third of the
  // scores there are larger. False where fewer than ten rows show it.
  bool is_below(const ScoreScale& other) const;

 private:
  std::map<int, size_t> counts_;  // by quarters of an octave
  size_t count_ = 0;
  double largest_ = 0;
};

// Watches the scores of each source of the rows, which a column names. Not thread-safe.
class SourceScales {
 public:
  void add(const std::optional<std::string>& source, double score);
  // A warning where the scores of two sources seem to be of different scales. `column` has their
  // names.
  std::vector<Finding> findings(const std::string& column) const;

 private:
  std::map<std::string, ScoreScale> scales_;  // of at most kMostSources
};

// Watches the words of sentences for what is no word of a sentence. Not thread-safe.
class OddWords {
 public:
  void add(std::string_view word);
  std::vector<Finding> findings() const;

 private:
  size_t words_ = 0;
  size_t pieces_ = 0;  // with the marks of WordPiece, SentencePiece or byte-level BPE
  size_t empty_ = 0;
  size_t added_ = 0;    // special tokens, which a tokenizer adds itself
  std::string prefix_;  // of all words: "en:"; empty: they have none
};

// Watches for a last row that sums up the rows above it, as spreadsheets have it. Not thread-safe.
class TotalRow {
 public:
  // `label`: its text, or empty. `number`: what the label is as a number, if it is one.
  void add(std::string_view text, std::string_view label, std::optional<double> number);
  // A warning where the last row is called "Total", "Summe" and so on, or its label is the sum of
  // all labels above it. `position`: where the last row stands.
  std::vector<Finding> findings(std::string_view position) const;

 private:
  std::string text_, label_;      // of the last row
  std::optional<double> number_;  // the same
  size_t rows_ = 0;
  bool are_numbers_ = true;       // the labels above the last row
  double sum_ = 0, largest_ = 0;  // of them; the largest without its sign
};

}  // namespace berth
