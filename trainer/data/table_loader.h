#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/row_reader.h"
#include "trainer/data/example_reader.h"
#include "trainer/data/example_table.h"
#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

struct LoadRules {
  std::optional<Task> task{};  // empty: the first file tells
  ColumnChoice columns{};
  LabelNeed need = LabelNeed::kRequired;
  int64_t skip_bad_rows = 0;                // so many may be left out
  bool keeps_keys = false;                  // the table will be split
  std::vector<std::string> known_labels{};  // rows with others are bad; empty: all are known
  // Of TFRecords: what their integers stand for (empty: themselves), and the ids they may hold.
  std::vector<std::string> record_labels{};
  TokenLimits token_limits{};
};

// Reads the files of one data set into one table, the rows of each after those of the one before.
class TableLoader {
 public:
  explicit TableLoader(const LoadRules& rules, size_t memory_bytes = ExampleTable::kMemoryBytes)
      : rules_(rules), table_(std::make_unique<ExampleTable>(memory_bytes)) {
    table_->labels.restrict_to(rules.known_labels);
  }

  // Each reads all rows of a file. Throws kBadData: a column that is not there (naming those that
  // are), a row that is none (naming it) beyond those that may be left out, a file that lacks a
  // column that the first had, or has a pair or a label that the first lacked. Errors do not name
  // the file: add it with at().
  void append_rows(std::unique_ptr<RowReader> rows);
  void append_records(std::unique_ptr<ByteSource> source);  // TFRecords of token ids
  void append_squad(std::unique_ptr<ByteSource> source);

  // Throws kBadData when no file had a row or the labels of all are no classes. At most once.
  std::unique_ptr<ExampleTable> finish();

  // Known after the first file.
  Task task() const { return *rules_.task; }
  const ColumnChoice& columns() const { return rules_.columns; }  // the ones that were read
  int64_t skipped_rows() const { return skipped_; }
  const std::string& first_skipped() const { return first_skipped_; }  // why, and where

 private:
  FoundColumns find(std::span<const Column> columns);
  void append(ExampleReader& reader);
  void require_labels(const ExampleReader& reader);

  LoadRules rules_;
  bool has_part_ = false;
  std::unique_ptr<ExampleTable> table_;
  int64_t skipped_ = 0;
  std::string first_skipped_;
};

}  // namespace berth
