#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/formats/row_reader.h"
#include "storage/storage.h"
#include "trainer/data/find_columns.h"
#include "trainer/text/training/word_counts.h"

namespace berth {

// The texts of all files that a path names: the lines of text files (.txt, or a name without a
// suffix; see LinesReader), and the texts of tables. Text files need not be UTF-8. A table's texts
// come from `text_column`, or else from the column with a usual name. The column of second texts,
// if there is one, counts, too. Compressed files, patterns, directories, archives and remote
// objects are read as everywhere. Not thread-safe.
class TextFiles {
 public:
  // Throws kNotFound if no file is there, and kBadData for a file that holds no texts, judging by
  // its name.
  TextFiles(Storage& storage, const std::string& path, std::string text_column,
            std::string text_pair_column, TextForm form = {});

  // Replaces `block` by the next rows. Returns false if there are none left. Errors name the file.
  bool next(TextBlock& block);

  size_t size() const { return files_.size(); }

 private:
  void open(const Uri& file);
  bool append_rows(TextBlock& block);

  Storage& storage_;
  std::string text_column_, text_pair_column_;
  TextForm form_;
  std::vector<Uri> files_;
  size_t next_file_ = 0;
  // The open file; null: none is open.
  std::unique_ptr<RowReader> rows_;
  FoundColumns columns_;
  Row row_;
};

// Whether a file with this name holds lines of text. Any compression suffix has been removed.
bool names_text_lines(std::string_view file_name);

}  // namespace berth
