#include "trainer/loop/checkpoint.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <set>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/whole_file.h"
#include "trainer/loop/checkpoint_files.h"
#include "trainer/model/pretrained.h"

namespace berth {
namespace {

constexpr const char* kManifest = "MANIFEST.json";
constexpr const char* kModel = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "state.json";
constexpr std::string_view kFirstMoment = "exp_avg.", kSecondMoment = "exp_avg_sq.";

std::string step_name(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(step));
  return name;
}

// The moments, cut into tensors by the parameter table.
void save_moments(const Parameters& parameters, const Optimizer& optimizer, Kernels& kernels,
                  ByteSink& sink) {
  std::vector<float> first(static_cast<size_t>(parameters.size())), second(first.size());
  kernels.download(first.data(), optimizer.first_moment());
  kernels.download(second.data(), optimizer.second_moment());
  std::vector<NamedTensor> tensors;
  for (const auto& [prefix, moment] :
       {std::pair(kFirstMoment, &first), std::pair(kSecondMoment, &second)}) {
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      const ParameterSpec& spec = parameters.specs()[i];
      const auto part = std::span(*moment).subspan(static_cast<size_t>(parameters.offset(i)),
                                                   static_cast<size_t>(spec.elements()));
      tensors.push_back({.name = std::string(prefix) + spec.name,
                         .shape = spec.shape,
                         .data = std::as_bytes(part)});
    }
  }
  write_safetensors(sink, tensors, {});
}

// Copies every parameter's tensor, named `prefix` + its name, into `target` (laid out as parameters
// are).
void restore_block(const SafetensorsReader& file, std::string_view prefix,
                   const Parameters& parameters, Tensor target, Kernels& kernels) {
  std::vector<float> values(static_cast<size_t>(parameters.size()));
  std::set<std::string_view> known;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    const NamedTensor* tensor = file.find(std::string(prefix) + spec.name);
    if (tensor == nullptr || tensor->shape != spec.shape || tensor->dtype != DType::kF32) {
      throw Error(Code::kIncompatible, "the checkpoint's tensors are not this model's",
                  std::string(prefix) + spec.name, "use another --job-dir for another model");
    }
    std::memcpy(values.data() + parameters.offset(i), tensor->data.data(), tensor->data.size());
  }
  kernels.upload(target, values.data());
}

// A checkpoint's files, each compared with its manifest.
class CompleteCheckpoint {
 public:
  // Throws kCorrupt or kNotFound when it is not complete.
  CompleteCheckpoint(Storage& storage, const Uri& directory) {
    const std::optional<std::string> manifest = read_text(storage, directory / kManifest);
    if (!manifest) throw Error(Code::kNotFound, "no " + std::string(kManifest));
    const std::vector<ManifestEntry> entries = parse_manifest(*manifest);
    for (const auto& [name, file] : {std::pair(kModel, &model_), std::pair(kOptimizer, &optimizer_),
                                     std::pair(kState, &state_)}) {
      const auto entry = std::find_if(entries.begin(), entries.end(),
                                      [&](const ManifestEntry& e) { return e.name == name; });
      if (entry == entries.end()) throw Error(Code::kCorrupt, "not in the manifest", name);
      file->emplace(storage, directory / name);
      Checksum checksum;
      checksum.add((*file)->bytes());
      if (checksum != entry->checksum) {
        throw Error(Code::kCorrupt, "size or CRC-32C is not the manifest's", name);
      }
    }
  }

  TrainingState restore(Parameters& parameters, Optimizer& optimizer, Kernels& kernels) const {
    const TrainingState state = parse_training_state(as_text(state_->bytes()));
    const SafetensorsReader model(model_->bytes()), moments(optimizer_->bytes());
    restore_block(model, "", parameters, parameters.values(), kernels);
    restore_block(moments, kFirstMoment, parameters, optimizer.first_moment(), kernels);
    restore_block(moments, kSecondMoment, parameters, optimizer.second_moment(), kernels);
    return state;
  }

 private:
  std::optional<WholeFile> model_, optimizer_, state_;
};

}  // namespace

CheckpointStore::CheckpointStore(Storage& storage, Uri directory, int64_t limit)
    : storage_(storage), directory_(std::move(directory)), limit_(limit) {}

Uri CheckpointStore::step_directory(int64_t step) const { return directory_ / step_name(step); }

std::vector<int64_t> CheckpointStore::steps() {
  std::set<int64_t> found;
  const std::string prefix = (directory_ / "step-").to_string();
  for (const Stat& stat : storage_.list(directory_)) {
    if (!stat.name.starts_with(prefix)) continue;
    const std::string digits =
        stat.name.substr(prefix.size(), stat.name.find('/', prefix.size()) - prefix.size());
    if (digits.empty() || digits.size() > 18 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    found.insert(std::stoll(digits));
  }
  return {found.begin(), found.end()};
}

CheckpointReport CheckpointStore::save(const TrainingState& state, const Parameters& parameters,
                                       const Optimizer& optimizer, Kernels& kernels) {
  const auto start = std::chrono::steady_clock::now();
  const Uri directory = step_directory(state.step);
  storage_.remove(directory / kManifest);  // of an attempt that this one replaces
  std::vector<ManifestEntry> entries;
  const auto write = [&](const char* name, const std::function<void(ByteSink&)>& fill) {
    Checksum checksum;
    ChecksumSink sink(storage_.create(directory / name), checksum);
    fill(sink);
    sink.close();
    entries.push_back({.name = name, .checksum = checksum});
  };
  write(kModel, [&](ByteSink& sink) { save_parameters(parameters, kernels, sink); });
  write(kOptimizer, [&](ByteSink& sink) { save_moments(parameters, optimizer, kernels, sink); });
  write(kState, [&](ByteSink& sink) { sink.write(as_bytes(to_json(state))); });
  write_text(storage_, directory / kManifest, manifest_json(entries));
  prune(state);

  CheckpointReport report{.step = state.step, .where = directory.to_string()};
  for (const ManifestEntry& entry : entries) report.size_bytes += entry.checksum.size;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  report.seconds = elapsed.count();
  return report;
}

void CheckpointStore::prune(const TrainingState& state) {
  if (limit_ == 0) return;
  std::vector<int64_t> kept = steps();
  const auto past = std::upper_bound(kept.begin(), kept.end(), state.step);
  kept.erase(past, kept.end());
  if (static_cast<int64_t>(kept.size()) <= limit_) return;
  kept.resize(kept.size() - static_cast<size_t>(limit_));
  for (const int64_t step : kept) {
    if (state.best && state.best->step == step) continue;
    try {
      storage_.remove(step_directory(step) / kManifest);  // first: then it is none
      for (const Stat& stat : storage_.list(step_directory(step))) {
        storage_.remove(Uri::parse(stat.name));
      }
      storage_.remove(Uri::parse(step_directory(step).to_string() + "/"));
    } catch (const Error& error) {
      log_warning(cat("checkpoint of step ", step, " was not removed: ", error.what()));
    }
  }
}

std::optional<TrainingState> CheckpointStore::restore(Parameters& parameters, Optimizer& optimizer,
                                                      Kernels& kernels) {
  const std::vector<int64_t> found = steps();
  for (auto step = found.rbegin(); step != found.rend(); ++step) {
    const Uri directory = step_directory(*step);
    std::optional<CompleteCheckpoint> checkpoint;
    try {
      checkpoint.emplace(storage_, directory);
      return checkpoint->restore(parameters, optimizer, kernels);
    } catch (const Error& error) {
      if (error.code() != Code::kCorrupt && error.code() != Code::kNotFound) {
        throw error.at(directory.to_string());
      }
      log_warning(cat("passing over the incomplete checkpoint ", directory.to_string(), ": ",
                      error.what()));
    }
  }
  return std::nullopt;
}

void CheckpointStore::record_best(const Best& best) {
  write_text(storage_, directory_ / "best.json", to_json(best));
}

}  // namespace berth
