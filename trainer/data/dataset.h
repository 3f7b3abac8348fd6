#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "trainer/data/example_table.h"
#include "trainer/data/features.h"
#include "trainer/model/task.h"

namespace berth {

// Of one row. Throws what `maker` does, and kBadData on one without a token, naming row and table.
std::vector<Features> make_features(const ExampleTable& table, const FeatureMaker& maker,
                                    uint32_t row);

// Some rows of a table as features: one a row, or one a window of a question's context. Features of
// a table in memory are made once, when they are first asked for; of one on disk each time, but for
// rows that were asked for lately (a batch that is evaluated). Borrows the table and the maker.
// Used by one thread at a time.
class Dataset {
 public:
  // `labelled`: the features have labels. Reads all rows of questions, to count their windows.
  Dataset(const ExampleTable& table, std::vector<uint32_t> rows, Task task,
          const FeatureMaker& maker, bool labelled);

  int64_t size() const;
  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  Task task() const { return task_; }
  bool labelled() const { return labelled_; }
  // Rows that are shuffled among each other: all, or a part that one read from disk brings.
  int64_t block_size() const;

  // Of the features at `index`: which of the rows() they are of, and the table's row of that.
  int64_t row_index(int64_t index) const;
  uint32_t row(int64_t index) const { return rows_[static_cast<size_t>(row_index(index))]; }
  // That row's number in its source, where rows may have been left out.
  uint64_t source_row(int64_t index) const { return table_.source_row(row(index)); }
  Example example(int64_t index) const { return table_.read(row(index)); }

  // Tokens of the features at `index`: as counted, else of the features.
  int64_t length(int64_t index);
  // Counts the tokens of all, on so many threads: makes all features, once more where they are not
  // kept. Throws as features() would, of the first row that it would throw of. Once `stop` is set
  // it returns early, and nothing may be asked of this any more.
  void count_tokens(int threads, const std::atomic<bool>& stop);

  // What it will hold in memory once all features were asked for, judged by those of some rows,
  // which it makes.
  size_t memory_bytes();

  // Valid until the next call.
  const Features& features(int64_t index);

 private:
  // Errors name the table and its row.
  std::vector<Features> make(uint32_t row) const;
  void count_windows();
  void count_tokens_of(size_t row);
  bool has_windows() const { return !first_feature_.empty(); }

  const ExampleTable& table_;
  const std::vector<uint32_t> rows_;
  const Task task_;
  const FeatureMaker& maker_;
  const bool labelled_;
  std::vector<uint32_t> first_feature_;  // of each row and the end, where a row has several
  std::vector<Features> kept_;           // of a table in memory; empty until first used
  std::vector<uint32_t> lengths_;        // of all features, once counted
  struct Recent {
    int64_t row = -1;
    std::vector<Features> features{};
  };
  std::vector<Recent> recent_;  // of rows made lately, each at its place modulo the size
};

}  // namespace berth
