#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/formats/lines_reader.h"
#include "storage/formats/row_reader.h"
#include "storage/storage.h"
#include "trainer/data/find_columns.h"
#include "trainer/inputs/split_folder.h"

namespace berth {

// What a data path names: a file, a pattern, a folder, a folder of splits, or an archive of them.
// All modes find and open their data here. The storage is asked for each fact once: later calls
// return the same answer, and a call after a failure asks again. Thread-safe. Borrows the storage.
class DataSource {
 public:
  DataSource(Storage& storage, const std::string& path)
      : storage_(storage), uri_(Uri::parse(path)) {}
  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;

  Storage& storage() const { return storage_; }
  const Uri& uri() const { return uri_; }

  // Whether the path names an archive that exists, or leads into one. What the archive holds is
  // known only once it is fetched. The functions below fetch it.
  bool is_archived() const;

  // The splits that the path names. Null: it does not name a folder of splits. Throws what
  // splits_among() throws.
  const SplitFolder* splits() const;

  // The files with rows for a role, in the order of their rows. In a folder of splits, they are
  // the split for the role. In another folder, they are all tables, TFRecords and token shards.
  // Throws kNotFound if no file is there. Throws kBadData if a folder is laid out in a way that is
  // not read, or holds copies of a table as refuse_copies() finds them. The error says what to do.
  std::vector<Uri> files(const std::string& role) const;

  // The files of a mode that reads texts without a task. In a folder of splits, they are the split
  // for training. In another folder, they are the files whose names `is_wanted` accepts. Throws
  // what splits() and expand() throw.
  std::vector<Uri> text_files(
      const std::function<bool(std::string_view file_name)>& is_wanted) const;

  // Opens one of the files. open_stored() returns the bytes as they are stored, and open() what
  // plain_content() makes of them.
  std::unique_ptr<ByteSource> open_stored(const Uri& file) const;
  std::unique_ptr<ByteSource> open(const Uri& file) const;

  // Opens a table for a mode without a task. Errors do not name the file.
  std::unique_ptr<RowReader> open_table(const Uri& file, TextForm form) const;

 private:
  // These are called with the mutex held.
  const SplitFolder* find_splits() const;
  std::vector<Uri> matching(const std::function<bool(std::string_view)>& is_wanted) const;
  bool is_object() const;

  Storage& storage_;
  const Uri uri_;
  mutable std::mutex mutex_;  // guards the members below; held while the storage is asked
  mutable std::optional<bool> is_archived_;
  mutable std::optional<std::optional<Stat>> stat_;        // of the path itself
  mutable std::optional<std::vector<std::string>> names_;  // of all objects of a folder, sorted
  mutable std::optional<std::optional<SplitFolder>> splits_;
  mutable std::map<std::string, std::vector<Uri>> files_;  // by role
};

// The bytes of a file that may be compressed. Its name says so, or its first bytes do if it is a
// table or a text. Throws kBadData for a pointer of Git LFS.
std::unique_ptr<ByteSource> plain_content(std::unique_ptr<ByteSource> stored, const Uri& file);

// The data paths of a job, each one a DataSource. All phases of a job that read data share it. A
// Storage converts to it, for a caller that shares nothing. Thread-safe. Borrows the storage.
class DataPaths {
 public:
  DataPaths(Storage& storage) : storage_(storage) {}  // NOLINT(google-explicit-constructor)

  Storage& storage() const { return storage_; }
  // Valid as long as this object.
  const DataSource& at(const std::string& path) const;

 private:
  Storage& storage_;
  mutable std::mutex mutex_;                           // guards the map
  mutable std::map<std::string, DataSource> sources_;  // by address
};

// Whether a file with this name holds lines of text: .txt, or a name without a suffix. Any
// compression suffix has been removed.
bool names_text_lines(std::string_view file_name);

// How TextRows reads.
struct TextRules {
  // The columns of the texts. They do not apply to files of lines.
  ColumnChoice columns{};
  TextForm form{};
  Malformed malformed = Malformed::kRefused;  // bytes of files of lines that are not UTF-8
  int64_t skip_bad_rows = 0;                  // the most malformed rows that are left out
};

// The rows with texts of several files, in their order. A table gives its columns of texts, and any
// other file its lines. Rows are not checked by a task. Not thread-safe. Borrows the source.
class TextRows {
 public:
  TextRows(const DataSource& source, std::vector<Uri> files, TextRules rules);

  // Goes to the next row. Returns false if there is none left. Throws kBadData for a table without
  // a column of texts, and for TFRecords of token ids. Also for a malformed row, after as many as
  // may be left out. Errors name the file.
  bool next();

  // Of the row. The caller may move the texts out.
  Cell& text() { return row_[columns_.text]; }
  Cell* second_text() { return columns_.text_pair ? &row_[*columns_.text_pair] : nullptr; }
  size_t file() const { return next_file_ - 1; }  // index into files()
  // In a file of lines, the number of the line. Counted from 1.
  uint64_t number() const { return number_; }

  const std::vector<Uri>& files() const { return files_; }
  int64_t skipped() const { return skipped_; }

 private:
  void open(const Uri& file);
  bool next_of_file();

  const DataSource& source_;
  const std::vector<Uri> files_;
  const TextRules rules_;
  size_t next_file_ = 0;
  // The open file; null: none is open.
  std::unique_ptr<RowReader> rows_;
  const LinesReader* lines_ = nullptr;  // the same, if it is a file of lines
  FoundColumns columns_;
  Row row_;
  uint64_t number_ = 0;
  int64_t skipped_ = 0;
};

// The checksum of the first `size` bytes of an object, or of all of them, as stored.
Checksum stored_checksum(Storage& storage, const Uri& uri, uint64_t size = UINT64_MAX);

}  // namespace berth
