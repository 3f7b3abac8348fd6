#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/spill_file.h"
#include "trainer/data/example.h"
#include "trainer/data/label_dictionary.h"
#include "trainer/model/task.h"

namespace berth {

// What a split needs to know of each row.
struct RowKeys {
  std::deque<uint32_t> hashes;  // of the row's text: equal texts hash alike
  // The first entry of its class; 0 where a task has no one class a row.
  std::deque<int32_t> strata;
};

// The rows of a data set in the order of their files, and the labels that they have. Rows beyond
// `memory_bytes` lie in a file on the local disk (SpillFile): what stays in memory then are a few
// bytes a row. Reading is thread-safe.
class ExampleTable {
 public:
  static constexpr size_t kMemoryBytes = size_t{64} << 20;
  static constexpr size_t kMostRows = UINT32_MAX;

  explicit ExampleTable(size_t memory_bytes = kMemoryBytes) : memory_bytes_(memory_bytes) {}

  // Throws kBadData beyond kMostRows, and as SpillFile does.
  void append(const Example& example);
  // Of the row last appended, where the table will be split: `split_key` is the text whose hash
  // tells where the row goes.
  void add_key(const Example& example, std::string_view split_key, Task task);
  // Of the source's next row, which is left out.
  void leave_out() { left_out_.push_back(static_cast<uint32_t>(rows_)); }
  // After the last row: settles the labels. Throws kBadData where there is no row.
  void finish();

  size_t rows() const { return rows_; }
  size_t memory_bytes() const;  // what it holds in memory, labels aside
  Example read(uint32_t row) const;
  // The number that a row has among all of its source, those left out included.
  uint64_t source_row(uint32_t row) const;
  // Whether rows lie on disk: then they are best read in nearly their order.
  bool spilled() const { return file_ != nullptr; }

  // Of all rows, where each was given its key. At most once; they are the caller's from then on.
  RowKeys take_keys() { return std::move(keys_); }

  std::string name;  // as errors call it
  LabelDictionary labels;
  bool labelled = false;    // rows have labels, scores or answers
  size_t unanswerable = 0;  // questions whose answers are none, where they are labelled

 private:
  static constexpr size_t kRowsPerOffset = 32;

  void settle_strata();
  std::string_view span_of_rows(size_t first, std::string& storage) const;

  const size_t memory_bytes_;
  size_t rows_ = 0;
  std::string buffer_;               // encoded rows not in the file
  std::deque<uint64_t> offsets_;     // of every 32nd row
  std::vector<uint32_t> left_out_;   // for each row left out, the one that came after it
  std::unique_ptr<SpillFile> file_;  // rows before those of the buffer
  RowKeys keys_;
};

}  // namespace berth
