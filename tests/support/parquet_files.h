#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

namespace berth {

// The files recorded by tests/record/record_parquet.py, by name.
inline std::vector<std::filesystem::path> recorded_parquet_files() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_TESTDATA "/parquet")) {
    if (entry.path().extension() == ".parquet") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace berth
