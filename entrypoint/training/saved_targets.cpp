#include "entrypoint/training/saved_targets.h"

#include <cstdio>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/store_object.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

constexpr const char* kTensor = "outputs";

size_t size_of_rows(std::span<const uint32_t> rows, const RowTargets& targets) {
  size_t size_bytes = 0;
  for (const uint32_t row : rows) size_bytes += targets.row_bytes(row);
  return size_bytes;
}

std::vector<size_t> ends_of_parts(std::span<const uint32_t> rows, const RowTargets& targets,
                                  size_t most_bytes) {
  std::vector<size_t> ends;
  size_t begin = 0, size_bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    size_bytes += targets.row_bytes(rows[i]);
    const bool is_full = i + 1 - begin == SavedTargets::kRowsOfFile || size_bytes >= most_bytes;
    if (!is_full && i + 1 < rows.size()) continue;
    ends.push_back(begin = i + 1);
    size_bytes = 0;
  }
  return ends;
}

}  // namespace

SavedTargets::SavedTargets(Storage& storage, Uri directory, std::string name, std::string identity,
                           std::vector<uint32_t> rows, RowTargets& targets, size_t bytes_of_file)
    : storage_(storage),
      directory_(std::move(directory)),
      name_(std::move(name)),
      identity_(std::move(identity)),
      rows_(std::move(rows)),
      targets_(targets),
      ends_(ends_of_parts(rows_, targets_, bytes_of_file)) {}

std::span<const uint32_t> SavedTargets::rows_of(size_t part) const {
  const size_t begin = part == 0 ? 0 : ends_[part - 1];
  return rows().subspan(begin, ends_[part] - begin);
}

Uri SavedTargets::file(size_t part) const {
  char digits[24];
  std::snprintf(digits, sizeof digits, "-%05zu", part);
  return directory_ / (name_ + digits + ".safetensors");
}

bool SavedTargets::restore_file(size_t part) {
  const Uri uri = file(part);
  if (!storage_.stat(uri)) return false;
  try {
    const WholeFile whole(storage_, uri);
    const SafetensorsReader reader(whole.bytes());
    const NamedTensor* tensor = reader.find(kTensor);
    const auto& metadata = reader.metadata();
    const auto of = [&](const char* key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? std::string() : found->second;
    };
    const bool fits = tensor != nullptr && tensor->dtype == targets_.dtype() &&
                      tensor->data.size() == size_of_rows(rows_of(part), targets_);
    if (!fits || of("identity") != identity_) return false;
    if (of("crc32c") != crc_text(parallel_crc32c(tensor->data, 0))) return false;
    set_bytes(part, tensor->data);
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::kCorrupt && error.code() != Code::kBadData) throw;
    log_warning(cat("the teacher's outputs in ", uri.to_string(),
                    " are damaged and made again: ", error.what()));
    return false;
  }
}

size_t SavedTargets::restore() {
  size_t done = 0;
  while (done < parts() && restore_file(done)) ++done;
  return done;
}

std::vector<std::byte> SavedTargets::bytes(size_t part) const {
  std::vector<std::byte> all;
  all.reserve(size_of_rows(rows_of(part), targets_));
  for (const uint32_t row : rows_of(part)) {
    const Bytes bytes = targets_.bytes(row);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

void SavedTargets::set_bytes(size_t part, Bytes bytes) {
  if (bytes.size() != size_of_rows(rows_of(part), targets_)) {
    throw Error(Code::kCorrupt, "the teacher's outputs have another size", file(part).to_string());
  }
  for (const uint32_t row : rows_of(part)) {
    targets_.set_bytes(row, bytes.first(targets_.row_bytes(row)));
    bytes = bytes.subspan(targets_.row_bytes(row));
  }
}

void SavedTargets::save(size_t part) const {
  const std::vector<std::byte> bytes = this->bytes(part);
  const size_t vector_bytes = targets_.width() * size_of(targets_.dtype());
  const NamedTensor tensor{.name = kTensor,
                           .dtype = targets_.dtype(),
                           .shape = {static_cast<int64_t>(bytes.size() / vector_bytes),
                                     static_cast<int64_t>(targets_.width())},
                           .data = bytes};
  store_object(storage_, file(part), [&](ByteSink& sink) {
    write_safetensors(sink, {&tensor, 1},
                      {{"identity", identity_}, {"crc32c", crc_text(parallel_crc32c(bytes, 0))}});
  });
}

void remove_saved_targets(Storage& storage, const Uri& directory) {
  for (const Stat& stat : storage.list(directory)) {
    storage.remove(Uri::parse(stat.name));
  }
  if (directory.is_local()) storage.remove(Uri::parse(directory.to_string() + "/"));
}

}  // namespace berth
