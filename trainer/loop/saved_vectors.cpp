#include "trainer/loop/saved_vectors.h"

#include <cstring>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

constexpr const char* kVectors = "vectors";

std::string metadata_text(const std::map<std::string, std::string>& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

}  // namespace

std::optional<std::vector<float>> SavedVectors::load(const std::string& name, size_t texts) {
  const Uri uri = file(name);
  if (!storage_.stat(uri)) return std::nullopt;
  try {
    const WholeFile whole(storage_, uri);
    const SafetensorsReader reader(whole.bytes());
    const NamedTensor* const tensor = reader.find(kVectors);
    if (tensor == nullptr || tensor->dtype != DType::kF32 || tensor->shape.size() != 2 ||
        tensor->shape[0] != static_cast<int64_t>(texts) || tensor->shape[1] < 1 ||
        metadata_text(reader.metadata(), "identity") != identity_ ||
        metadata_text(reader.metadata(), "crc32c") != crc_text(parallel_crc32c(tensor->data, 0))) {
      return std::nullopt;
    }
    std::vector<float> vectors(tensor->data.size() / sizeof(float));
    if (!vectors.empty()) std::memcpy(vectors.data(), tensor->data.data(), tensor->data.size());
    loaded_ += texts;
    return vectors;
  } catch (const Error& error) {
    if (error.code() != Code::kCorrupt && error.code() != Code::kBadData) throw;
    log_warning(
        cat("the vectors in ", uri.to_string(), " are damaged and computed again: ", error.what()));
    return std::nullopt;
  }
}

void SavedVectors::save(const std::string& name, size_t texts,
                        std::span<const float> vectors) const {
  const Bytes bytes = std::as_bytes(vectors);
  const NamedTensor tensor{
      .name = kVectors,
      .dtype = DType::kF32,
      .shape = {static_cast<int64_t>(texts), static_cast<int64_t>(vectors.size() / texts)},
      .data = bytes};
  store_object(storage_, file(name), [&](ByteSink& sink) {
    write_safetensors(sink, {&tensor, 1},
                      {{"identity", identity_}, {"crc32c", crc_text(parallel_crc32c(bytes, 0))}});
  });
}

void SavedVectors::remove() const {
  for (const Stat& stat : storage_.list(directory_)) storage_.remove(Uri::parse(stat.name));
  if (directory_.is_local()) storage_.remove(Uri::parse(directory_.to_string() + "/"));
}

}  // namespace berth
