#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

namespace berth {

// The files and streams recorded by tests/record/record_arrow.py, by name.
inline std::vector<std::filesystem::path> recorded_arrow_files() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_TESTDATA "/arrow")) {
    if (entry.path().extension() != ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace berth
