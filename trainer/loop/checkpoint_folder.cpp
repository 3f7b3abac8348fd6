#include "trainer/loop/checkpoint_folder.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "storage/base/text.h"
#include "storage/local_file.h"
#include "trainer/loop/checkpoint_files.h"

namespace berth {
namespace {

constexpr std::string_view kStepPrefix = "step-";

// The step of a folder's name; nullopt: it is no checkpoint's.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const std::string digits(name.substr(kStepPrefix.size()));
  if (digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoll(digits);
}

// Which files of a checkpoint are there.
struct Files {
  bool has_manifest = false, has_parameters = false, has_moments = false, has_state = false;
  uint64_t size_bytes = 0;

  void add(std::string_view name, uint64_t size) {
    has_manifest = has_manifest || name == kManifestFile;
    has_parameters = has_parameters || name == kParametersFile;
    has_moments = has_moments || name == kMomentsFile;
    has_state = has_state || name == kStateFile || name == kNextStateFile;
    size_bytes += size;
  }
  bool are_complete() const { return has_manifest && has_parameters && has_moments && has_state; }
};

}  // namespace

Uri step_directory(const Uri& directory, int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(step));
  return directory / name;
}

std::map<int64_t, FoundCheckpoint> find_checkpoints(Storage& storage, const Uri& directory) {
  std::map<int64_t, Files> files;
  const std::string prefix = (directory / kStepPrefix).to_string();
  const size_t name_begin = prefix.size() - kStepPrefix.size();
  for (const Stat& stat : storage.list(directory)) {
    if (!stat.name.starts_with(prefix)) continue;
    const size_t end = std::min(stat.name.find('/', name_begin), stat.name.size());
    const auto step = step_of(std::string_view(stat.name).substr(name_begin, end - name_begin));
    if (!step) continue;
    const std::string_view file =
        std::string_view(stat.name).substr(std::min(end + 1, stat.name.size()));
    files[*step].add(file, stat.size);
  }
  std::map<int64_t, FoundCheckpoint> found;
  for (const auto& [step, of_step] : files) {
    found[step] = {.is_complete = of_step.are_complete(), .size_bytes = of_step.size_bytes};
  }
  return found;
}

void remove_checkpoint(Storage& storage, const Uri& directory, int64_t step) {
  const Uri folder = step_directory(directory, step);
  storage.remove(folder / kManifestFile);
  for (const Stat& stat : storage.list(folder)) storage.remove(Uri::parse(stat.name));
  if (folder.is_local()) remove_unfinished(folder.path());
  storage.remove(Uri::parse(folder.to_string() + "/"));
}

void remove_unfinished_checkpoints(const Uri& directory) {
  if (!directory.is_local()) return;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory.path(), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!step_of(entry->path().filename().string())) continue;
    remove_unfinished(entry->path().string());
    std::error_code not_empty;
    std::filesystem::remove(entry->path(), not_empty);  // a folder that is empty now
  }
}

}  // namespace berth
