#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// Writes a table of texts as a stream, one row after another. Closes no sink. Throws what its sink
// throws. Not thread-safe.
class TextTableWriter {
 public:
  virtual ~TextTableWriter() = default;

  virtual void add(std::span<const std::string> texts) = 0;  // one of each column
  // Writes what follows the last row. Called once.
  virtual void finish() {}
};

// The writer for a file of this name, which borrows the sink. .csv and .tsv mean CSV, with quotes
// where a field needs them. .jsonl and .json mean an object on each line, and .parquet Parquet.
// JSON repairs a text that is not valid UTF-8 with U+FFFD. Throws kUsage for other names.
std::unique_ptr<TextTableWriter> make_text_table_writer(std::string_view file_name,
                                                        std::vector<std::string> columns,
                                                        ByteSink& sink);

// Throws kUsage where the name says no format that it knows.
void require_text_table(std::string_view file_name);

}  // namespace berth
