#pragma once

#include <string>

#include "trainer/inputs/data_source.h"
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
            std::string text_pair_column, const TextForm& form = {});

  // Replaces `block` by the next rows, which are all of one file. Returns false if there are none
  // left. Errors name the file.
  bool next(TextBlock& block);

  size_t size() const { return rows_.files().size(); }

 private:
  const DataSource source_;
  TextRows rows_;
  size_t file_ = 0;        // of the rows in the last block
  bool is_ahead_ = false;  // whether the current row belongs to the next block
};

}  // namespace berth
