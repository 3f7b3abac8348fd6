#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace berth {

// The pickles recorded by tests/record/record_pickles.py and record_old_pickles.py, by name.
inline std::vector<std::filesystem::path> recorded_pickles() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_TESTDATA "/pickle")) {
    if (entry.path().extension() == ".pickle") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::string file_content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace berth
