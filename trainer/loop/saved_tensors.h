#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_file.h"
#include "storage/storage.h"

namespace berth {

// What a model computed, in files of a directory, so that a job that was stopped does not compute
// it again. Each file holds one tensor as safetensors, and says in its metadata whose it is. Not
// thread-safe.
class SavedTensors {
 public:
  // `what` and `again` are for the log: "the vectors in FILE are damaged and computed again".
  struct Kind {
    std::string tensor, what, again;
  };

  // `identity` is a text that differs where the tensors would.
  SavedTensors(Storage& storage, Uri directory, Kind kind, std::string identity)
      : storage_(storage),
        directory_(std::move(directory)),
        kind_(std::move(kind)),
        identity_(std::move(identity)) {}

  Uri file(const std::string& name) const { return directory_ / (name + ".safetensors"); }
  // Lends the tensor in the file of this name to `take`, and returns what that returns: whether it
  // fits. Returns false where the file is absent or damaged, or of another identity. `of` is added
  // to the identity: a text that differs where this tensor would.
  bool load(const std::string& name, const std::function<bool(const NamedTensor& tensor)>& take,
            const std::string& of = "") const;
  void save(const std::string& name, DType dtype, std::vector<int64_t> shape, Bytes data,
            const std::string& of = "") const;
  // Removes the files and the directory.
  void remove() const;

 private:
  Storage& storage_;
  const Uri directory_;
  const Kind kind_;
  const std::string identity_;
};

// Removes the files of a directory of SavedTensors, and the directory.
void remove_saved_tensors(Storage& storage, const Uri& directory);

// The vectors of texts. Each file holds the vectors of a part of the texts.
class SavedVectors {
 public:
  SavedVectors(Storage& storage, Uri directory, std::string identity)
      : files_(storage, std::move(directory), {"vectors", "the vectors", "computed again"},
               std::move(identity)) {}

  // Texts as token ids.
  using Texts = std::span<const std::vector<int32_t>>;

  // The vectors of `texts` in the file of this name, one behind the other. nullopt: the file is
  // absent or damaged, or of other texts.
  std::optional<std::vector<float>> load(const std::string& name, Texts texts);
  void save(const std::string& name, Texts texts, std::span<const float> vectors) const;

  size_t loaded() const { return loaded_; }  // the texts whose vectors were found
  void remove() const { files_.remove(); }

 private:
  const SavedTensors files_;
  size_t loaded_ = 0;
};

}  // namespace berth
