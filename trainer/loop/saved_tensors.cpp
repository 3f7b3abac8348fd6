#include "trainer/loop/saved_tensors.h"

#include <cstring>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/whole_file.h"

namespace berth {

bool SavedTensors::load(const std::string& name,
                        const std::function<bool(const NamedTensor& tensor)>& take,
                        const std::string& of) const {
  const Uri uri = file(name);
  if (!storage_.stat(uri)) return false;
  try {
    const WholeFile whole(storage_, uri);
    const SafetensorsReader reader(whole.bytes());
    const auto says = [&](const char* key, const std::string& value) {
      const auto found = reader.metadata().find(key);
      return found != reader.metadata().end() && found->second == value;
    };
    const NamedTensor* const tensor = reader.find(kind_.tensor);
    return tensor != nullptr && says("identity", identity_ + of) &&
           says("crc32c", crc_text(parallel_crc32c(tensor->data, 0))) && take(*tensor);
  } catch (const Error& error) {
    if (error.code() != Code::kCorrupt && error.code() != Code::kBadData) throw;
    log_warning(cat(kind_.what, " in ", uri.to_string(), " are damaged and ", kind_.again, ": ",
                    error.what()));
    return false;
  }
}

void SavedTensors::save(const std::string& name, DType dtype, std::vector<int64_t> shape,
                        Bytes data, const std::string& of) const {
  const NamedTensor tensor{
      .name = kind_.tensor, .dtype = dtype, .shape = std::move(shape), .data = data};
  store_object(storage_, file(name), [&](ByteSink& sink) {
    write_safetensors(
        sink, {&tensor, 1},
        {{"identity", identity_ + of}, {"crc32c", crc_text(parallel_crc32c(data, 0))}});
  });
}

void SavedTensors::remove() const { remove_saved_tensors(storage_, directory_); }

void remove_saved_tensors(Storage& storage, const Uri& directory) {
  for (const Stat& stat : storage.list(directory)) storage.remove(Uri::parse(stat.name));
  if (directory.is_local()) storage.remove(Uri::parse(directory.to_string() + "/"));
}

namespace {

std::string identity_of(SavedVectors::Texts texts) {
  uint32_t crc = 0;
  for (const std::vector<int32_t>& ids : texts) {
    const auto size = static_cast<uint32_t>(ids.size());
    crc = crc32c(std::as_bytes(std::span(&size, 1)), crc);
    crc = crc32c(std::as_bytes(std::span(ids)), crc);
  }
  return cat(" texts ", crc_text(crc));
}

}  // namespace

std::optional<std::vector<float>> SavedVectors::load(const std::string& name, Texts texts) {
  std::vector<float> vectors;
  const auto take = [&](const NamedTensor& tensor) {
    if (tensor.dtype != DType::kF32 || tensor.shape.size() != 2 ||
        tensor.shape[0] != std::ssize(texts) || tensor.shape[1] < 1) {
      return false;
    }
    vectors.resize(tensor.data.size() / sizeof(float));
    if (!vectors.empty()) std::memcpy(vectors.data(), tensor.data.data(), tensor.data.size());
    return true;
  };
  if (!files_.load(name, take, identity_of(texts))) return std::nullopt;
  loaded_ += texts.size();
  return vectors;
}

void SavedVectors::save(const std::string& name, Texts texts,
                        std::span<const float> vectors) const {
  const int64_t rows = std::ssize(texts);
  files_.save(name, DType::kF32, {rows, std::ssize(vectors) / rows}, std::as_bytes(vectors),
              identity_of(texts));
}

}  // namespace berth
