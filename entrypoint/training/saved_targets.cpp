#include "entrypoint/training/saved_targets.h"

#include <algorithm>
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

// The outputs of some rows, one after the other.
std::vector<std::byte> bytes_of(std::span<const uint32_t> rows, const RowTargets& targets) {
  std::vector<std::byte> all;
  all.reserve(rows.size() * targets.row_bytes());
  for (const uint32_t row : rows) {
    const Bytes bytes = targets.bytes(row);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

}  // namespace

SavedTargets::SavedTargets(Storage& storage, Uri directory, std::string name, std::string identity)
    : storage_(storage),
      directory_(std::move(directory)),
      name_(std::move(name)),
      identity_(std::move(identity)) {}

Uri SavedTargets::file(size_t number) const {
  char digits[24];
  std::snprintf(digits, sizeof digits, "-%05zu", number);
  return directory_ / (name_ + digits + ".safetensors");
}

bool SavedTargets::restore_file(size_t number, std::span<const uint32_t> rows,
                                RowTargets& targets) {
  const Uri uri = file(number);
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
    const bool fits = tensor != nullptr && tensor->dtype == targets.dtype() &&
                      tensor->data.size() == rows.size() * targets.row_bytes();
    if (!fits || of("identity") != identity_) return false;
    if (of("crc32c") != crc_text(parallel_crc32c(tensor->data, 0))) return false;
    for (size_t i = 0; i < rows.size(); ++i) {
      targets.set_bytes(rows[i],
                        tensor->data.subspan(i * targets.row_bytes(), targets.row_bytes()));
    }
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::kCorrupt && error.code() != Code::kBadData) throw;
    log_warning(cat("the teacher's outputs in ", uri.to_string(),
                    " are damaged and made again: ", error.what()));
    return false;
  }
}

size_t SavedTargets::restore(const std::vector<uint32_t>& rows, RowTargets& targets) {
  size_t done = 0;
  for (size_t number = 0; done < rows.size(); ++number) {
    const size_t count = std::min(kRowsOfFile, rows.size() - done);
    if (!restore_file(number, std::span(rows).subspan(done, count), targets)) break;
    done += count;
  }
  return done;
}

void SavedTargets::save(const std::vector<uint32_t>& rows, size_t done, const RowTargets& targets) {
  if (done == 0 || (done % kRowsOfFile != 0 && done != rows.size())) return;
  const size_t number = (done - 1) / kRowsOfFile, first = number * kRowsOfFile;
  const std::vector<std::byte> bytes =
      bytes_of(std::span(rows).subspan(first, done - first), targets);
  const NamedTensor tensor{
      .name = kTensor,
      .dtype = targets.dtype(),
      .shape = {static_cast<int64_t>(done - first), static_cast<int64_t>(targets.width())},
      .data = bytes};
  store_object(storage_, file(number), [&](ByteSink& sink) {
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
