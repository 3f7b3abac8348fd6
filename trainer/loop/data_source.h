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
#include "storage/formats/row_reader.h"
#include "storage/storage.h"
#include "trainer/loop/split_folder.h"

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

  // Opens one of the files. open_stored() returns the bytes as they are stored, and open() the
  // bytes decompressed as the name says.
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

// The checksum of the first `size` bytes of an object, or of all of them, as stored.
Checksum stored_checksum(Storage& storage, const Uri& uri, uint64_t size = UINT64_MAX);

}  // namespace berth
