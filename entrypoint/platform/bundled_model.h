#pragma once

#include <filesystem>
#include <optional>

namespace berth {

// The folder of the model that a job starts from when it names none: the one that is installed with
// the program (../share/berth/model from bin/), or examples/model of the checkout that the program
// was built in. nullopt: there is neither.
std::optional<std::filesystem::path> find_bundled_model();

}  // namespace berth
