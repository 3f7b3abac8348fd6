#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/storage.h"
#include "trainer/loop/training_state.h"

namespace berth {

// The files of a checkpoint. MANIFEST.json is written last. While a state is replaced, the manifest
// names state.next.json in place of state.json.
inline constexpr const char* kManifestFile = "MANIFEST.json";
inline constexpr const char* kParametersFile = "model.safetensors";
inline constexpr const char* kMomentsFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kNextStateFile = "state.next.json";
// Beside the checkpoints of a job.
inline constexpr const char* kBestFile = "best.json";

// state.json.
std::string to_json(const TrainingState& state);
TrainingState parse_training_state(std::string_view json);  // throws kCorrupt

struct ManifestEntry {
  std::string name;
  Checksum checksum;
};

// MANIFEST.json.
std::string manifest_json(std::span<const ManifestEntry> entries);
std::vector<ManifestEntry> parse_manifest(std::string_view json);  // throws kCorrupt

// best.json.
std::string to_json(const Best& best);
Best parse_best(std::string_view json);  // throws kCorrupt

}  // namespace berth
