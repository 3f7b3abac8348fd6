#pragma once

#include <filesystem>
#include <optional>

namespace berth {

// The model that a job starts from when it names none: the folder installed beside the program
// (../share/berth/model from bin/), or examples/model of the checkout it was built in.
std::optional<std::filesystem::path> find_bundled_model();

}  // namespace berth
