#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/storage.h"
#include "trainer/loop/training_state.h"

namespace berth {

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
