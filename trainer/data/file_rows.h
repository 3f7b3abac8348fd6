#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "trainer/data/example.h"

namespace berth {

// How large the scores of some rows are, without their signs.
class ScoreScale {
 public:
  void add(double score);
  void add(const ScoreScale& other);
  double largest() const { return largest_; }

  // Whether these scores seem to be of another, smaller scale than `other`, as 0 to 1 beside 0 to
  // 5: the largest one is at most a third of the largest one there, and at least a third of the
  // scores there are larger. False where fewer than ten rows show it.
  bool is_below(const ScoreScale& other) const;

 private:
  std::map<int, size_t> counts_;  // by quarters of an octave
  size_t count_ = 0;
  double largest_ = 0;
};

// Compares the rows of one file with the rows of the files before it. Not thread-safe.
class FileRows {
 public:
  // Called before the first row, if a table has several files.
  void expect_several() { before_.resize(size_t{1} << kBitsOfPlace); }
  // Later rows belong to another file.
  void begin_file();
  void add(const Example& example, bool has_score);

  const ScoreScale& scale() const { return scale_; }  // of this file
  // Whether nine of ten rows, of ten or more, are also rows of the files before.
  bool are_repeated() const { return rows_ >= 10 && repeated_ * 10 >= rows_ * 9; }
  size_t repeated() const { return repeated_; }

 private:
  static constexpr int kBitsOfPlace = 26;  // 8 MiB of bits

  ScoreScale scale_;
  size_t rows_ = 0, repeated_ = 0;
  // The bits of this file's rows, and the bits that are set for rows of the files before it. Empty:
  // the table has one file.
  std::vector<uint32_t> own_;
  std::vector<bool> before_;
};

}  // namespace berth
