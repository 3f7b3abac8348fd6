#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/storage.h"
#include "trainer/data/row_targets.h"

namespace berth {

// A teacher's outputs for rows, in files of a job directory, so that a resumed job does not run the
// teacher again. Each file holds the outputs of a part of the rows as safetensors, and says in its
// metadata whose outputs they are. Files of another teacher or other rows, and damaged ones, are
// passed over and made again. Not thread-safe.
class SavedTargets {
 public:
  // A part ends when it has this number of rows or bytes. It has at least one row.
  static constexpr size_t kRowsOfFile = 16384, kBytesOfFile = size_t{64} << 20;

  // Files lie in `directory` and are called NAME-00000.safetensors, ... `identity` is a text that
  // differs where the outputs would. They hold the outputs of `rows` in this order. Borrows
  // `targets`, whose rows have their sizes already.
  SavedTargets(Storage& storage, Uri directory, std::string name, std::string identity,
               std::vector<uint32_t> rows, RowTargets& targets,
               size_t bytes_of_file = kBytesOfFile);

  RowTargets& targets() { return targets_; }
  std::span<const uint32_t> rows() const { return rows_; }
  size_t parts() const { return ends_.size(); }
  std::span<const uint32_t> rows_of(size_t part) const;

  // Fills the targets from the files. Returns how many parts were filled: the first ones.
  size_t restore();
  // Writes the file of a part, whose rows are all set.
  void save(size_t part) const;

  // The outputs of a part's rows, one after the other, as set_bytes() takes them.
  std::vector<std::byte> bytes(size_t part) const;
  // Throws kCorrupt if the number of bytes differs from the part's.
  void set_bytes(size_t part, Bytes bytes);

 private:
  Uri file(size_t part) const;
  bool restore_file(size_t part);

  Storage& storage_;
  const Uri directory_;
  const std::string name_, identity_;
  const std::vector<uint32_t> rows_;
  RowTargets& targets_;
  std::vector<size_t> ends_;  // where each part ends among the rows
};

// Removes all files of a directory of SavedTargets.
void remove_saved_targets(Storage& storage, const Uri& directory);

}  // namespace berth
