#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "trainer/data/row_targets.h"

namespace berth {

// What a teacher made of rows, in files of a job directory, so that a resumed job does not ask it
// again. Each file holds the outputs of kRowsOfFile rows as safetensors, and says in its metadata
// whose outputs they are. Files of another teacher or other rows, and damaged ones, are passed over
// and made again. Not thread-safe.
class SavedTargets {
 public:
  static constexpr size_t kRowsOfFile = 16384;

  // Files lie in `directory` and are called NAME-00000.safetensors, ... `identity` is a text that
  // differs where the outputs would.
  SavedTargets(Storage& storage, Uri directory, std::string name, std::string identity);

  // Fills `targets` from the files, which hold the outputs of `rows` in this order. Returns how
  // many rows were filled: the first ones.
  size_t restore(const std::vector<uint32_t>& rows, RowTargets& targets);
  // Writes the file that ends with the row at `done` - 1 of `rows`, if one does.
  void save(const std::vector<uint32_t>& rows, size_t done, const RowTargets& targets);

 private:
  Uri file(size_t number) const;
  bool restore_file(size_t number, std::span<const uint32_t> rows, RowTargets& targets);

  Storage& storage_;
  const Uri directory_;
  const std::string name_, identity_;
};

// Removes all files of a directory of SavedTargets.
void remove_saved_targets(Storage& storage, const Uri& directory);

}  // namespace berth
