#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace berth {

// The vectors of texts, in files of a directory, so that a job that was stopped does not compute
// them again. Each file holds the vectors of a part of the texts as safetensors, and says in its
// metadata of which model and texts. Not thread-safe.
class SavedVectors {
 public:
  // `identity` is a text that differs where the vectors would.
  SavedVectors(Storage& storage, Uri directory, std::string identity)
      : storage_(storage), directory_(std::move(directory)), identity_(std::move(identity)) {}

  // The vectors of `texts` texts in the file of this name, one behind the other. nullopt: the file
  // is absent or damaged, or of other vectors.
  std::optional<std::vector<float>> load(const std::string& name, size_t texts);
  void save(const std::string& name, size_t texts, std::span<const float> vectors) const;

  size_t loaded() const { return loaded_; }  // the texts whose vectors were found
  // Removes the files and the directory.
  void remove() const;

 private:
  Uri file(const std::string& name) const { return directory_ / (name + ".safetensors"); }

  Storage& storage_;
  const Uri directory_;
  const std::string identity_;
  size_t loaded_ = 0;
};

}  // namespace berth
